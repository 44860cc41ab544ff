"""perjoule pipeline on profiles and order files, good and bad: figures, schema, message, exit status."""
import json
import os
import pathlib
import re
import resource
import socket

from command import CommandTest, main

CLOCKS = {1400: (1.0, 1.0), 1200: (1.15, 0.85), 1000: (1.4, 0.76)}
TIMES = {"forward": 0.05, "backward": 0.1, "weight": 0.05, "backward-input": 0.05, "forwardbackward": 0.14, "recomputation": 0.05}


def profile(stages=4, instructions=("forward", "backward"), constant=()):
    rows = ["stage,instruction,clock,time,energy"]
    for stage in range(stages):
        for name in instructions:
            time = TIMES[name] * (1.2 if stage == stages - 1 else 1)
            for clock, (slower, cheaper) in CLOCKS.items():
                rows.append(f"{stage},{name},{clock},{time * slower},{time * 300 * cheaper}")
        for name in constant:
            rows.append(f"{stage},{name},,0.02,3")
    return "\n".join(rows) + "\n"


COMMON = ("--blocking-power", "70W")
ORDER = "stage,instruction,microbatch\n0,forward,0\n0,backward,0\n1,forward,0\n1,backward,0\n"


# Partitions of a stage, each measured at tuples of a clock, nanobatches and the SMs that communication gets.
PARTITIONS = {"attention-forward": 0.02, "mlp-forward": 0.03, "mlp-backward": 0.06, "attention-backward": 0.04}


def partition_table(nanobatches=(1, 2), stages=2):
    rows = ["stage,instruction,clock,nanobatches,comm_sms,time,energy"]
    for stage in range(stages):
        for name, time in PARTITIONS.items():
            for clock, (slower, cheaper) in CLOCKS.items():
                for parts in nanobatches:
                    for sms in (4, 12) if parts > 1 else (0,):
                        # Overlapping gains where communication gets enough SMs, and more so in attention.
                        factor = {0: 1.0, 4: 1.02, 12: 0.9 if name.startswith("attention") else 1.01}[sms]
                        t = time * (1.15 if stage == stages - 1 else 1) * slower * factor
                        rows.append(f"{stage},{name},{clock} MHz,{parts},{sms},{t},{t / slower * 300 * cheaper * (1.03 if parts > 1 else 1)}")
    return "\n".join(rows) + "\n"


def partition_order(microbatches=4, stages=2):
    rows = ["stage,instruction,microbatch,after"]
    names = list(PARTITIONS)
    for stage in range(stages):
        for m in range(microbatches):
            for name in names[:2]:
                after = f"mlp-forward:{stage - 1}:{m}" if stage > 0 and name == names[0] else ""
                rows.append(f"{stage},{name},{m},{after}")
        for m in range(microbatches):
            for name in names[2:]:
                after = f"attention-backward:{stage + 1}:{m}" if stage < stages - 1 and name == names[2] else ""
                rows.append(f"{stage},{name},{m},{after}")
    return "\n".join(rows) + "\n"


class Pipeline(CommandTest):
    def test_a_long_pipelines_plans_are_solved_by_themselves_and_looked_up(self):
        path = self.write("long.csv", profile(stages=40))
        words = ("pipeline", "plan", path, *COMMON, "--microbatches", "130", "--points", "3")
        file = str(self.folder / "long.json")
        document = self.json(*words, "--json", "--output", file)
        self.assertIs(document["whole_frontier"], False)
        self.assertEqual(len(document["plans"]), 4)  # and T*
        self.assertIn(document["least_energy_s"], [one["requested_s"] for one in document["plans"]])
        for plan in document["plans"]:
            self.assertGreaterEqual(plan["gap"], -1e-12)
            self.assertLess(plan["gap"], 0.01)  # three clocks are coarse
            self.assertLessEqual(plan["time_s"], plan["requested_s"] * (1 + 1e-12))
        said = self.call(*words)
        self.assertIn("Of 10400 instructions only the times planned are solved", said.stdout)
        late = str(1.1 * document["least_energy_s"])
        found = self.json("pipeline", "lookup", file, "--until", late + "s", "--json")
        self.assertGreaterEqual(found["time_s"], 0.99 * document["least_energy_s"])
        short = self.json("pipeline", "plan", path, *COMMON, "--microbatches", "4", "--points", "3", "--json")
        self.assertIs(short["whole_frontier"], True)

    def simulated(self, content, *words):
        document = self.json("pipeline", "simulate", self.write("p.csv", content), *COMMON, "--json", *words)
        self.assertEqual(document["schema"], "perjoule.pipeline-iteration.v1")
        return document

    def refused(self, content, *words, wanted=()):
        for verb in ("simulate", "plan"):
            result = self.call("pipeline", verb, self.write("p.csv", content), *COMMON, *words)
            self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
            self.assertEqual(result.stdout, "")
            for text in wanted:
                self.assertIn(text, result.stderr)

    def test_parts_add_up_and_nothing_overlaps(self):
        for words in ((), ("--highest",), ("--uniform", "1200"), ("--slowdown", "1.1"), ("--least-energy",)):
            with self.subTest(words):
                document = self.simulated(profile(), "--microbatches", "6", *words)
                self.assertAlmostEqual(document["energy_j"], document["working_j"] + document["waiting_j"], 6)
                self.assertAlmostEqual(document["energy_j"], sum(s["energy_j"] for s in document["by_stage"]), 6)
                self.assertEqual(document["switches"], sum(s["switches"] for s in document["by_stage"]))
                for stage in document["by_stage"]:
                    self.assertAlmostEqual(stage["busy_s"] + stage["waited_s"], document["time_s"], 6)
                    end = 0
                    for step in stage["steps"]:
                        self.assertGreaterEqual(step["start_s"], end - 1e-9)
                        self.assertGreaterEqual(step["slack_s"], 0)
                        end = step["end_s"]
                    self.assertEqual(len(stage["steps"]), 12)

    def test_the_plan_saves_and_keeps_the_time_it_was_asked_for(self):
        highest = self.simulated(profile(), "--microbatches", "6", "--highest")
        shortest = self.simulated(profile(), "--microbatches", "6")
        self.assertAlmostEqual(shortest["time_s"], highest["time_s"], 6)
        self.assertLess(shortest["energy_j"], highest["energy_j"])
        self.assertGreaterEqual(shortest["gap"], 0)
        slower = self.simulated(profile(), "--microbatches", "6", "--time", "1.7s")
        self.assertLessEqual(slower["time_s"], 1.7)
        self.assertLess(slower["energy_j"], shortest["energy_j"])
        self.assertIn("1.000 s is below it", self.simulated(profile(), "--microbatches", "6", "--time", "1s")["setting"])
        uniform = self.simulated(profile(), "--microbatches", "6", "--uniform", "1400")
        self.assertEqual(uniform["time_s"], highest["time_s"])
        self.assertEqual(uniform["switches"], 0)

    def test_every_schedule_runs(self):
        split = ("forward", "backward", "weight")
        shapes = {
            "1f1b": (split, ()), "gpipe": (split, ()), "gpipe-same-order": (split, ()),
            "early-recompute": (tuple(TIMES), ()), "interleaved": (split, ("--chunks", "2")),
            "zb-h1": (split, ()), "zb-h2": (split, ()), "zb-v": (split, ()), "dualpipe": (tuple(TIMES), ()),
        }
        for name, (instructions, words) in shapes.items():
            with self.subTest(name):
                content = profile(instructions=instructions, constant=("load", "step"))
                document = self.simulated(content, "--microbatches", "8", "--schedule", name, *words, "--data-load", "load",
                                          "--stage-end", "step")
                self.assertEqual(document["schedule"], name)
                steps = [step["instruction"] for stage in document["by_stage"] for step in stage["steps"]]
                self.assertEqual((steps.count("load"), steps.count("step")), (8, 4))
                self.assertLess(document["gap"], 0.05)

    def test_the_text_has_a_table_and_a_chart(self):
        result = self.call("pipeline", "simulate", self.write("p.csv", profile()), *COMMON, "--microbatches", "4",
                           "--width", "60")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.isascii())
        lines = re.findall(r"^[ 0-3] \|.{60}\|.*$", result.stdout, re.M)
        self.assertEqual(len(lines), 8, result.stdout)
        self.assertIn("SWITCHES", result.stdout)
        self.assertIn("above the least", result.stdout)

    def test_an_order_file_is_a_schedule(self):
        order = self.write("order.csv", ORDER)
        document = self.simulated(profile(2), "--schedule", order)
        self.assertEqual(document["microbatches"], 1)
        built_in = self.simulated(profile(2), "--microbatches", "1")
        self.assertEqual(document["time_s"], built_in["time_s"])

    def test_every_gpu_of_a_stage_waits_at_the_blocking_power(self):
        rows = profile(stages=2).splitlines()
        twice = [rows[0] + ",tp_rank"] + [f"{row},{rank}" for row in rows[1:] for rank in (0, 1)]

        def plan(name, content, *words):
            return self.json("pipeline", "plan", self.write(name, content), *COMMON, "--microbatches", "4", "--json", *words)

        one = plan("one.csv", "\n".join(rows) + "\n")
        for document in (plan("two.csv", "\n".join(twice) + "\n"), plan("same.csv", "\n".join(rows) + "\n", "--energy-scale", "2", "--gpus", "2")):
            self.assertEqual(document["least_energy_s"], one["least_energy_s"])
            for mine, its in zip(document["plans"], one["plans"], strict=True):
                self.assertEqual(mine["time_s"], its["time_s"])
                for part in ("energy_j", "working_j", "waiting_j", "bound_j"):
                    self.assertAlmostEqual(mine[part] / its[part], 2, places=9)
        uneven = "\n".join(line for line in twice if not line.startswith("1,") or line.endswith(",0")) + "\n"
        self.refused(uneven, "--microbatches", "4", wanted=("2 GPUs for stage 0 and 1 for stage 1", "--gpus"))

    def test_bad_order_files_are_named_by_line(self):
        two = profile(2)
        order = self.write("cyclic.csv", ORDER.replace("0,forward,0\n0,backward,0", "0,backward,0\n0,forward,0"))
        self.refused(two, "--schedule", order, wanted=("waits for itself", "backward 0 of stage 0 -> forward 0 of stage 0"))
        order = self.write("bad.csv", ORDER + "1,forward,x\n")
        self.refused(two, "--schedule", order, wanted=("bad.csv line 6", "microbatch"))
        order = self.write("good.csv", ORDER)
        self.refused(two, "--schedule", order, "--microbatches", "3", wanted=("has 1 microbatch,", "3"))
        self.refused(profile(4), "--schedule", order, wanted=("2 stages", "4"))
        self.refused(two, "--schedule", str(self.folder / "none.csv"), wanted=("none.csv", "zb-h1"))

    def test_what_the_profile_lacks_is_named(self):
        self.refused(profile(), "--microbatches", "8", "--schedule", "zb-v", wanted=("'weight'", "stage 0"))
        self.refused(profile(), "--microbatches", "8", "--stage-end", "step", wanted=("'step'",))

    def test_settings_that_not_all_gpus_of_a_stage_have_are_left_out_and_it_is_said(self):
        rows = ["stage,tp_rank,instruction,clock,time,energy"]
        for gpu in (0, 1):
            for name in ("forward", "backward"):
                rows += [f"0,{gpu},{name},{clock},{0.05 * slower},{15 * cheaper}" for clock, (slower, cheaper) in CLOCKS.items()]
        table = self.write("p.csv", "\n".join(rows[:-1]) + "\n")
        for verb in ("plan", "compare", "simulate"):
            with self.subTest(verb):
                result = self.call("pipeline", verb, table, *COMMON, "--microbatches", "4")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("1 setting left out, not measured on all GPUs of the stage: backward of stage 0 at clock 1000 "
                              "(tp_rank 1 has no row)", result.stderr)
        self.refused("\n".join(row for row in rows if not row.startswith("0,1,backward")) + "\n", "--microbatches", "4",
                     wanted=("backward of stage 0 was measured at no setting on all 2 GPUs of the stage", "tp_rank 1 has none"))

    def test_figures_that_are_no_measurements_are_refused_and_no_document_holds_one(self):
        content = profile(stages=1)
        for row in ("0,forward,900,1e300,1", "0,forward,900,1,1e300", "0,forward,900,2e9,1", "0,forward,900,1,2e15"):
            with self.subTest(row):
                self.refused(content + row + "\n", "--microbatches", "2", wanted=("p.csv line 8", "are believed of one instruction"))
        for words in (("--energy-scale", "1e300"), ("--time-scale", "1e300"), ("--blocking-power", "1e300W"),
                      ("--switch-energy", "1e300J")):
            with self.subTest(words):
                self.refused(content, "--microbatches", "2", *words)
        power = self.write("power.csv", "clock,power\n1400,90\n1200,1e300\n")
        self.refused(content, "--microbatches", "2", "--blocking-power", power, wanted=("power.csv line 3", "from 0 to 1e+09 W"))
        # Nothing that takes no energy makes a ratio that no document can hold.
        nothing = self.write("p.csv", "stage,instruction,clock,time,energy\n0,forward,1,1,0\n0,backward,1,1,0\n")
        for verb in ("plan", "compare", "simulate"):
            for extremes in ((nothing, "0W"), (self.write("q.csv", content + "0,forward,900,1e9,1e15\n"), "1e9W")):
                with self.subTest(verb=verb, extremes=extremes):
                    result = self.call("pipeline", verb, extremes[0], "--blocking-power", extremes[1], "--microbatches", "2", "--json")
                    self.assertEqual(result.returncode, 0, result.stderr)
                    json.loads(result.stdout, parse_constant=lambda word: self.fail(f"{word} is no number"))

    def test_sizes_that_no_machine_holds_are_refused(self):
        for words in (("--schedule", "interleaved", "--chunks", "1000000"), ("--schedule", "1f1b"), ("--schedule", "zb-v")):
            with self.subTest(words):
                self.refused(profile(stages=64), "--microbatches", "1000000", *words,
                             wanted=("an iteration of", "schedules of up to 50000000 are made"))

    def test_files_without_an_end_and_too_little_memory_are_said(self):
        hole = self.write("hole.csv", "")
        os.truncate(hole, 5 << 30)
        self.refused(profile(), "--schedule", hole, wanted=("hole.csv: larger than 4 GiB",))
        os.truncate(hole, 1 << 30)
        table = self.write("p.csv", profile())
        little = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))}
        for path in (hole, "/dev/zero"):
            for words in ((path, "--microbatches", "2"), (table, "--schedule", path)):
                with self.subTest(words):
                    result = self.call("pipeline", "simulate", *words, *COMMON, **little)
                    self.assertEqual(result.returncode, 3, result.stderr)
                    self.assertIn("pipeline simulate: out of memory", result.stderr)

    def test_where_plans_cannot_be_written_is_said_before_they_are_made(self):
        table = self.write("p.csv", profile())
        for path, status, wanted in (("", 2, "the name of a file to write is empty"), ("/proc/x", 3, "/proc/x: no file can be made in /proc/"),
                                     ("/nonexistent/x", 2, "there is no folder /nonexistent/")):
            with self.subTest(path):
                result = self.call("pipeline", "plan", table, *COMMON, "--microbatches", "4", "--output", path)
                self.assertEqual((result.returncode, result.stdout), (status, ""), result.stderr)
                self.assertIn(wanted, result.stderr)
        for points in ("0", "-1", "1000000", "1.5", "many"):
            result = self.call("pipeline", "plan", table, *COMMON, "--microbatches", "4", "--points", points)
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"--points {points}: not a count from 1 to 100000", result.stderr)

    def test_a_shape_that_a_schedule_has_not_is_refused(self):
        self.refused(profile(), wanted=("--microbatches",))
        self.refused(profile(), "--microbatches", "0", wanted=("--microbatches 0",))
        self.refused(profile(), "--microbatches", "6", "--schedule", "interleaved", "--chunks", "2", wanted=("multiple",))
        self.refused(profile(), "--microbatches", "8", "--chunks", "2", wanted=("interleaved",))
        self.refused(profile(3), "--microbatches", "8", "--schedule", "dualpipe", wanted=("even",))

    def planned(self, *words):
        path = self.folder / "plans.json"
        result = self.call("pipeline", "plan", self.write("p.csv", profile()), *COMMON, "--microbatches", "6", "--output",
                           str(path), *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return path, json.loads(path.read_text())

    def test_a_plan_says_what_it_takes_and_how_far_it_is_from_the_bound(self):
        _, document = self.planned("--points", "5")
        self.assertEqual(document["schema"], "perjoule.pipeline-plans.v1")
        self.assertAlmostEqual(document["highest"]["left_w"], 4 * 70, 6)
        until = 0
        for plan in document["plans"]:
            self.assertLessEqual(plan["time_s"], plan["requested_s"] + 1e-9)
            self.assertAlmostEqual(plan["gap"], plan["until_requested_j"] / plan["bound_j"] - 1, 9)
            self.assertGreaterEqual(plan["gap"], -1e-9)
            self.assertEqual([len(stage) for stage in plan["knob"]], [len(stage) for stage in document["order"]])
            self.assertGreater(plan["requested_s"], until)
            until = plan["requested_s"]

    def planned_partitions(self, nanobatches, times):
        table = self.write("partitions.csv", partition_table(nanobatches))
        words = ("pipeline", "plan", table, *COMMON, "--schedule", self.write("order.csv", partition_order()), "--time", times)
        text = self.call(*words)
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertIn("ABOVE BOUND", text.stdout)
        self.assertIn("32 instructions", text.stdout)
        return self.json(*words, "--json")

    def test_partitions_with_tuples_of_knobs_are_planned_as_any_instruction(self):
        times = "1.02s,1.1s,1.2s,1.35s"
        document = self.planned_partitions((1, 2), times)
        measured = {}
        for row in partition_table().splitlines()[1:]:
            stage, name, clock, parts, sms, time, energy = row.split(",")
            measured[int(stage), name, clock, parts, sms] = (float(time), float(energy))
        self.assertEqual(len(document["knobs"]), 9)
        kinds = set()
        for plan in document["plans"]:
            working = busy = 0
            for stage, (order, numbers) in enumerate(zip(document["order"], plan["knob"], strict=True)):
                for (instruction, _, _), number in zip(order, numbers, strict=True):
                    knob = document["knobs"][number]
                    self.assertEqual(list(knob), ["clock", "nanobatches", "comm_sms"])
                    kinds.add(knob["nanobatches"])
                    time, energy = measured[stage, document["instructions"][instruction], *knob.values()]
                    busy += time
                    working += energy
            self.assertAlmostEqual(plan["working_j"], working, 6)
            self.assertAlmostEqual(plan["waiting_j"], 70 * (2 * plan["time_s"] - busy), 3)
            self.assertLessEqual(plan["time_s"], plan["requested_s"] + 1e-9)
            self.assertLess(plan["gap"], 0.02)
        self.assertEqual(kinds, {"1", "2"})
        # More to choose from never costs more, by the bound exactly and by the plans nearly.
        for alone in (self.planned_partitions((1,), times), self.planned_partitions((2,), times)):
            for joint, one in zip(document["plans"], alone["plans"], strict=True):
                self.assertLessEqual(joint["requested_s"], one["requested_s"] + 1e-9)
                if abs(joint["requested_s"] - one["requested_s"]) < 1e-9:
                    self.assertLessEqual(joint["bound_j"], one["bound_j"] + 1e-6)
                    self.assertLessEqual(joint["until_requested_j"], one["until_requested_j"] * 1.005)

    def test_a_step_that_runs_a_forward_and_a_backward_names_both_microbatches(self):
        _, plain = self.planned("--points", "2")
        self.assertNotIn("backward_microbatch", plain)
        path = self.folder / "dualpipe.json"
        content = self.write("d.csv", profile(instructions=tuple(TIMES)))
        words = (*COMMON, "--microbatches", "8", "--schedule", "dualpipe")
        result = self.call("pipeline", "plan", content, *words, "--points", "2", "--output", str(path))
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(path.read_text())
        fused = document["instructions"].index("forwardbackward")
        done = []
        for order, backward in zip(document["order"], document["backward_microbatch"], strict=True):
            for (instruction, microbatch, _), other in zip(order, backward, strict=True):
                self.assertEqual(other is not None, instruction == fused)
                if other is not None:
                    # The halves enter from opposite ends.
                    self.assertNotEqual(other < 4, microbatch < 4)
                    done.append(other)
        iteration = self.simulated(profile(instructions=tuple(TIMES)), *words[2:])
        self.assertEqual(done, [step["backward_microbatch"] for stage in iteration["by_stage"] for step in stage["steps"]
                                if "backward_microbatch" in step])
        found = self.json("pipeline", "lookup", str(path), "--straggler", "1.1", "--json")
        self.assertEqual(found["backward_microbatch"], document["backward_microbatch"])

    def test_a_straggler_gets_the_plan_that_takes_least_until_its_end(self):
        path, document = self.planned("--points", "30")
        highest = document["highest"]
        for factor in (1, 1.1, 1.2, 1.5):
            until = factor * highest["time_s"]
            found = {policy: self.json("pipeline", "lookup", str(path), "--straggler", str(factor), "--policy", policy, "--json")
                     for policy in ("until", "alone")}
            in_time = [p["energy_j"] + p["left_w"] * (until - p["time_s"]) for p in document["plans"]
                       if p["time_s"] <= until * (1 + 1e-12)]
            self.assertAlmostEqual(found["until"]["until_j"], min(in_time), 6)
            self.assertLessEqual(found["until"]["until_j"], found["alone"]["until_j"] + 1e-9)
            self.assertLess(found["until"]["until_j"], found["until"]["highest_until_j"])
            self.assertLessEqual(found["alone"]["time_s"], max(document["least_energy_s"], document["shortest_s"]) + 1e-9)
            self.assertEqual(found["until"]["knob"], document["plans"][found["until"]["plan"]]["knob"])
        quick = self.call("pipeline", "lookup", str(path), "--until", "1ms")
        self.assertEqual(quick.returncode, 1)
        self.assertIn("no straggler", quick.stderr)

    def told(self, *words):
        """A plan server that takes one call and has no objection: what the verb printed, and what it was told."""
        path = str(self.folder / "server")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            listening.listen()
            listening.settimeout(30)
            process = self.start("pipeline", "straggler", "3", *words, "--server", path, "--json")
            connection, _ = listening.accept()
            with connection, connection.makefile("rw") as lines:
                call = json.loads(lines.readline())
                lines.write("{}\n")
                lines.flush()
                out, err = process.communicate(timeout=30)
        os.unlink(path)
        self.assertEqual(process.returncode, 0, err)
        return json.loads(out), call

    def test_a_straggler_that_was_told_of_is_a_document(self):
        for words, said in ((("--slowdown", "1.2"), {"slowdown": 1.2}), (("--until", "3.4s"), {"until_s": 3.4}), (("--over",), {"over": True})):
            with self.subTest(words):
                document, call = self.told(*words)
                self.assertEqual(document, {"schema": "perjoule.pipeline-straggler.v1", "server": str(self.folder / "server"), "pipeline": 3, **said})
                self.assertEqual(call, {"call": "straggle", "pipeline": 3, **said})
        for words in (("3", "--until", "-1s"), ("3", "--until", "0"), ("3", "--until", ""), ("3", "--slowdown", "1e300"),
                      ("99999999999", "--slowdown", "2"), ("-1", "--slowdown", "2")):
            with self.subTest(words):
                result = self.call("pipeline", "straggler", *words, "--server", "/nonexistent", "--json")
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)

    def expanded(self, document):
        """The plans with their settings in full."""
        settings = None
        for plan in document["plans"]:
            if "changes" in plan:
                for stage, changes in enumerate(plan.pop("changes")):
                    for step, knob in changes:
                        self.assertNotEqual(settings[stage][step], knob)
                        settings[stage][step] = knob
            else:
                settings = plan["knob"]
            plan["knob"] = [list(stage) for stage in settings]
        return document

    def test_plans_as_changes_are_the_plans(self):
        _, full = self.planned("--points", "12")
        path, short = self.planned("--points", "12", "--changes")
        self.assertIn("knob", short["plans"][0])
        for plan in short["plans"][1:]:
            self.assertNotIn("knob", plan)
            self.assertEqual(len(plan["changes"]), 4)
        found = [self.json("pipeline", "lookup", str(path), "--straggler", factor, "--json") for factor in ("1", "1.1", "1.3")]
        self.assertGreater(found[2]["plan"], found[0]["plan"])
        for one in found:
            self.assertEqual(one["knob"], full["plans"][one["plan"]]["knob"])
        self.assertEqual(self.expanded(short), full)
        table = self.write("p.csv", profile())
        printed = self.json("pipeline", "plan", table, *COMMON, "--microbatches", "6", "--points", "12", "--json", "--changes")
        self.assertEqual(self.expanded(printed), full)
        useless = self.call("pipeline", "plan", table, *COMMON, "--microbatches", "6", "--changes")
        self.assertEqual(useless.returncode, 2)
        self.assertIn("--output", useless.stderr)

    def test_changes_that_do_not_fit_are_refused(self):
        path, document = self.planned("--points", "3", "--changes")
        slowest = ("lookup", "--until", "10s", "--json")
        self.assertEqual(self.call("pipeline", slowest[0], str(path), *slowest[1:]).returncode, 0)
        for changes, wanted in (([[]], "4 stages"), ("all", "4 stages"), ([[], [], [], 3], "no list"), ([[[1]], [], [], []], "[step, knob]"),
                                ([[["a", 1]], [], [], []], "[step, knob]"), ([[], [[99, 0]], [], []], "step 99"),
                                ([[[-1, 0]], [], [], []], "step -1")):
            with self.subTest(changes):
                document["plans"][1]["changes"] = changes
                result = self.call("pipeline", slowest[0], self.write("bad.json", json.dumps(document)), *slowest[1:])
                self.assertEqual(result.returncode, 2, result.stdout)
                self.assertIn("bad.json: plan 1", result.stderr)
                self.assertIn(wanted, result.stderr)
        del document["plans"][0]["knob"]
        document["plans"][0]["changes"] = []
        result = self.call("pipeline", "lookup", self.write("bad.json", json.dumps(document)), "--until", "10s", "--json")
        self.assertEqual(result.returncode, 2)
        self.assertIn("bad.json", result.stderr)

    def test_files_that_hold_no_plans_are_refused(self):
        path, document = self.planned("--points", "2")
        spoilt = [json.dumps({**document, "schema": "other"}), "{", "[]", "", json.dumps({**document, "plans": []}),
                  json.dumps({**document, "plans": [{"time_s": 1, "energy_j": 2, "left_w": 3}]}),
                  json.dumps({**document, "highest": {"time_s": "1"}}), json.dumps({**document, "least_energy_s": None})]
        spoilt += [json.dumps({k: v for k, v in document.items() if k != missing}) for missing in document
                   if missing in ("highest", "knobs", "order", "instructions", "plans", "least_energy_s")]
        for content in spoilt:
            for words in (("--until", "1s"), ("--straggler", "1.1", "--json")):
                with self.subTest(content[:80]):
                    result = self.call("pipeline", "lookup", self.write("bad.json", content), *words)
                    self.assertEqual(result.returncode, 2, result.stderr)
                    self.assertIn("bad.json", result.stderr)
        for words in ((), ("--until", "1s", "--straggler", "2"), ("--straggler", "0.5"), ("--until", "1s", "--policy", "best"),
                      ("--until", "-1s"), ("--until", "0"), ("--until", ""), ("--until", "1e300s"), ("--straggler", "1e300")):
            result = self.call("pipeline", "lookup", str(path), *words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn("pipeline lookup: ", result.stderr)

    def test_members_of_a_plans_file_that_do_not_fit_are_refused(self):
        _, document = self.planned("--points", "2")
        knobs, order, plan = document["knobs"], document["order"], document["plans"][1]
        def with_knob(knob):
            return {"plans": [document["plans"][0], {**plan, "knob": knob}]}
        spoilt = [({"knobs": {}}, "knobs is no list"), ({"knobs": [1]}, "knobs is no list"), ({"knobs": knobs[:1]}, "and there are 1"),
                  ({"instructions": "forward"}, "instructions is no list"), ({"instructions": [1, 2]}, "instructions is no list"),
                  ({"instructions": ["forward"]}, "order is no list"), ({"order": {}}, "order is no list"), ({"order": []}, "order is no list"),
                  ({"order": order[:3]}, "not of 3 stages"), ({"order": [order[0][1:], *order[1:]]}, "stage 0 has"),
                  ({"order": [[[0, 0]], *order[1:]]}, "order is no list"), ({"order": [[[-1, 0, 0]], *order[1:]]}, "order is no list"),
                  ({"order": [[[0, "0", 0]], *order[1:]]}, "order is no list"),
                  ({"backward_microbatch": [[None]]}, "backward_microbatch is not"), ({"backward_microbatch": 1}, "backward_microbatch is not"),
                  (with_knob(plan["knob"][:3]), "plan 1: its knob is not of 4 stages"),
                  (with_knob([plan["knob"][0][1:], *plan["knob"][1:]]), "plan 1: stage 0 has 12 steps in the order, and 11 in its knob"),
                  (with_knob([[len(knobs)] * 12, *plan["knob"][1:]]), f"plan 1: knob {len(knobs)}, and there are {len(knobs)}"),
                  (with_knob([[-1] * 12, *plan["knob"][1:]]), "plan 1: knob -1"),
                  (with_knob([[0.5] * 12, *plan["knob"][1:]]), "no whole number"),
                  ({"plans": [{**plan, "time_s": 0}]}, "time_s is 0"), ({"plans": [{**plan, "energy_j": -1}]}, "energy_j is -1")]
        for change, wanted in spoilt:
            for words in (("--until", "1s"), ("--straggler", "1.1", "--json")):
                with self.subTest(wanted=wanted, words=words):
                    result = self.call("pipeline", "lookup", self.write("bad.json", json.dumps({**document, **change})), *words)
                    self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                    self.assertIn("bad.json: ", result.stderr)
                    self.assertIn(wanted, result.stderr)

    def test_no_other_method_takes_less_than_the_bound_of_its_time(self):
        document = self.json("pipeline", "compare", self.write("p.csv", profile()), *COMMON, "--microbatches", "6", "--json")
        self.assertEqual(document["schema"], "perjoule.pipeline-comparison.v1")
        methods = {row["method"]: row for row in document["results"]}
        for method in ("highest", "plan_same_time", "envpipe_balanced", "envpipe_greedy", "uniform", "zeus_global", "zeus_per_stage"):
            self.assertGreaterEqual(methods[method]["energy_j"], methods[method]["bound_j"] * (1 - 1e-6), method)
        self.assertAlmostEqual(document["intrinsic_bloat"], 1 - methods["plan_same_time"]["energy_j"] / methods["highest"]["energy_j"], 9)
        self.assertLessEqual(methods["plan_same_time"]["time_s"], methods["highest"]["time_s"] + 1e-9)

    def test_every_document_says_how_well_its_energies_are_known(self):
        rows = profile().splitlines()
        stated = "\n".join([rows[0] + ",energy_spread", *(f"{row},{float(row.split(',')[-1]) * 0.01}" for row in rows[1:])]) + "\n"
        errors = {}
        for row in stated.splitlines()[1:]:
            stage, name, clock, _, _, error = row.split(",")
            errors[int(stage), name, clock] = float(error)

        def expected(document, numbers):
            uses = {}
            for stage, (order, knobs) in enumerate(zip(document["order"], numbers, strict=True)):
                for (instruction, _, _), number in zip(order, knobs, strict=True):
                    key = (stage, document["instructions"][instruction], document["knobs"][number]["clock"])
                    uses[key] = uses.get(key, 0) + 1
            return sum((count * errors[key]) ** 2 for key, count in uses.items()) ** 0.5

        for content, known in ((stated, True), (profile(), False)):
            table = self.write("p.csv", content)
            common = ("--microbatches", "6", *COMMON)
            path = str(self.folder / "plans.json")
            self.assertEqual(self.call("pipeline", "plan", table, *common, "--points", "5", "--output", path).returncode, 0)
            plans = json.loads(pathlib.Path(path).read_text())
            iteration = self.json("pipeline", "simulate", table, *common, "--json")
            comparison = self.json("pipeline", "compare", table, *common, "--json")
            found = self.json("pipeline", "lookup", path, "--straggler", "1.2", "--json")
            for document in (plans, iteration, comparison, found):
                self.assertEqual([document[member] for member in ("status", "boundary", "grade")], ["reconstructed", "B0", "D"])
            sigmas = [one["energy_sigma_j"] for one in (plans["highest"], iteration, found, *plans["plans"], *comparison["results"])]
            sigmas.append(found["highest_energy_sigma_j"])
            if known:
                for plan in plans["plans"]:
                    self.assertAlmostEqual(plan["energy_sigma_j"], expected(plans, plan["knob"]), 9)
                self.assertEqual(found["energy_sigma_j"], plans["plans"][found["plan"]]["energy_sigma_j"])
                self.assertTrue(all(sigma > 0 for sigma in sigmas), sigmas)
            else:
                self.assertEqual(set(sigmas), {None})
            for words in (("plan", table, *common), ("simulate", table, *common), ("compare", table, *common),
                          ("lookup", path, "--straggler", "1.2")):
                text = self.call("pipeline", *words).stdout
                self.assertIn("two standard errors of the profile's means; boundary B0, grade D" if known else
                              "How well energies are known the profile does not say", text)
        # A file of before has none.
        for plan in (plans["highest"], *plans["plans"]):
            del plan["energy_sigma_j"]
        old = self.json("pipeline", "lookup", self.write("old.json", json.dumps(plans)), "--straggler", "1.2", "--json")
        self.assertIsNone(old["energy_sigma_j"])
        plans["highest"]["energy_sigma_j"] = -1
        self.assertEqual(self.call("pipeline", "lookup", self.write("old.json", json.dumps(plans)), "--straggler", "1.2").returncode, 2)

    def test_times_that_vary_give_a_distribution(self):
        rows = profile().splitlines()
        content = "\n".join([rows[0] + ",time_spread"] + [f"{row},{0.1 * float(row.split(',')[3])}" for row in rows[1:]]) + "\n"
        words = ("--microbatches", "6", "--samples", "300")
        document = self.simulated(content, *words, "--seed", "7")
        samples = document["samples"]
        self.assertEqual((samples["status"], samples["count"], samples["seed"], samples["varying"]), ("simulated", 300, 7, 48))
        for name in ("time_s", "energy_j"):
            one = samples[name]
            self.assertLess(one["p5"], one["p50"])
            self.assertLess(one["p50"], one["p95"])
        self.assertGreater(samples["time_s"]["mean"], document["time_s"])
        self.assertGreater(samples["late_share"], 0.5)
        self.assertEqual(self.simulated(content, *words, "--seed", "7")["samples"], samples)
        self.assertNotEqual(self.simulated(content, *words)["samples"]["time_s"], samples["time_s"])
        # The samples change nothing in the iteration itself.
        del document["samples"]
        self.assertEqual(self.simulated(content, "--microbatches", "6"), document)
        text = self.call("pipeline", "simulate", self.write("p.csv", content), *COMMON, *words).stdout
        self.assertRegex(text, r"300 iterations with the times of 48 instructions drawn anew \(seed 1\): simulated")

    def test_samples_of_what_does_not_vary_are_refused(self):
        for content, words, wanted in ((profile(), ("--samples", "10"), "time_spread"), (profile(), ("--seed", "2"), "--samples"),
                                       (profile(), ("--samples", "0"), "--samples 0"),
                                       (profile(), ("--samples", "5", "--seed", "-1"), "--seed -1")):
            with self.subTest(words):
                result = self.call("pipeline", "simulate", self.write("p.csv", content), *COMMON, "--microbatches", "4", *words)
                self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
                self.assertIn(wanted, result.stderr)

    def test_what_cannot_be_simulated_is_refused(self):
        for words, wanted in ((("--uniform", "1100"), "1400, 1200, 1000"), (("--highest", "--time", "1s"), "both"),
                              (("--slowdown", "0.5"), "slowdown"), (("--width", "3"), "--width"),
                              (("--from", "2s", "--until", "1s"), "--from"), (("--time", "soon"), "--time")):
            with self.subTest(words):
                result = self.call("pipeline", "simulate", self.write("p.csv", profile()), *COMMON, "--microbatches", "4", *words)
                self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
                self.assertIn(wanted, result.stderr)


if __name__ == "__main__":
    main()
