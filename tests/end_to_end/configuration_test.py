"""Options that stand in perjoule.toml or in the environment instead of on the command line."""
import json

from command import CommandTest, main


class Configuration(CommandTest):
    TABLE = "power_limit_w,time_s,energy_j\n200,3,400\n300,2,300\n400,1.5,390\n"

    def frontier(self, *words, **variables):
        return self.call("frontier", self.write("points.csv", self.TABLE), *words, cwd=self.folder, variables=variables)

    def chosen(self, *words, **variables):
        document = json.loads(self.frontier(*words, **variables).stdout)
        return document["groups"][0]["chosen"]["settings"]["power_limit_w"]

    def test_a_file_in_the_current_folder_is_read_and_a_flag_wins_over_it(self):
        self.write("perjoule.toml", '[frontier]\ndeadline = "1.6s"\njson = true\n')
        self.assertEqual(self.chosen(), "400")
        self.assertEqual(self.chosen("--deadline", "2.5s"), "300")
        self.assertEqual(self.chosen(PERJOULE_FRONTIER_DEADLINE="2.5s"), "300")

    def test_a_mistake_names_file_and_line(self):
        self.write("perjoule.toml", '[frontier]\n\ndedline = "1.6s"\n')
        result = self.frontier()
        self.assertEqual(result.returncode, 2)
        self.assertIn("perjoule.toml:3: perjoule frontier has no option --dedline", result.stderr)
        self.assertEqual(self.frontier(PERJOULE_CONFIG="").returncode, 0)

    def test_a_named_file_that_is_not_there_is_an_error(self):
        result = self.frontier(PERJOULE_CONFIG="absent.toml")
        self.assertEqual(result.returncode, 2)
        self.assertIn("absent.toml", result.stderr)


if __name__ == "__main__":
    main()
