"""The pages as a real daemon serves them, in Chromium. Skipped where Node or Chromium cannot be had."""
import os
import pathlib
import subprocess

from command import COMMAND, TwinTest, main
from serve_test import daemon

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Scenes:
    def __init__(self, folder):
        self.folder = folder

    def pages_of_a_daemon(self):
        subprocess.run([COMMAND, "run", "--", "sleep", "0.3"], check=True, capture_output=True, timeout=60)
        documents = ROOT / "web" / "tests" / "documents"
        with daemon(self.folder, "--open-loopback", "0", "--documents", str(documents), "--every", "200ms") as begun:
            environment = {**os.environ, "BASE_URL": f"http://127.0.0.1:{begun['port']}/"}
            tests = subprocess.run([str(ROOT / "tools" / "web"), "test", "daemon"], env=environment, capture_output=True, text=True, timeout=250,
                                   check=False)
            if tests.returncode == 77:
                print("skipped: " + tests.stderr)
                return
            assert tests.returncode == 0, tests.stdout[-4000:] + tests.stderr[-2000:]
            assert "# fail 0" in tests.stdout, tests.stdout[-2000:]


class Dashboard(TwinTest):
    def test_pages_of_a_daemon(self):
        ended = self.on_twin("pages_of_a_daemon", "h100:2")
        if "skipped: " in ended.stdout:
            self.skipTest(ended.stdout)


if __name__ == "__main__":
    main(Scenes)
