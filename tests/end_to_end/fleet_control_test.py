"""perjoule fleet control: real servers on simulated GPUs, whose clocks and number follow the load and are back at the end."""
import atexit
import contextlib
import ctypes
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
import urllib.request

from command import COMMAND, CommandTest, TwinTest, free_ports, library, main
from prometheus import needs_prometheus, prometheus

MODEL = "llama-3.1-8b"
HIGH, LOW = 1980, 990
KNOBS = pathlib.Path(os.environ.get("PERJOULE_KNOBS", "/nowhere"))
PROFILE_COLUMNS = ("model,gpu,tp,pp,clock_mhz,class,load_tps,power_w,ttft_mean_ms,ttft_p90_ms,ttft_p99_ms,tbt_mean_ms,tbt_p90_ms,"
                   "tbt_p99_ms,status,origin")


def profile(most_low=4000, most_high=40000, tps=(1,)):
    """The lower clock is in time up to the one load, the higher up to the other."""
    rows = [PROFILE_COLUMNS]
    for tp in tps:
        for clock, most, power in ((LOW, most_low, 150), (HIGH, most_high, 250)):
            rows += [f"{MODEL},H100,{tp},1,{clock},,{share * most},{(power + 100 * share) * tp},50,80,120,12,15,20,simulated,made up for a test"
                     for share in (0.01, 0.5, 1)]
    return "\n".join(rows) + "\n"


def fleet(ports, policy="scale-freq", more="", hooks="", states=("on", "on"), metrics=""):
    text = f'[fleet]\npolicy = "{policy}"\nprofile = "profile.csv"\nevery = "1s"\ndrain = "2s"\n{more}\n{metrics}\n{hooks}\n'
    for gpu, (port, state) in enumerate(zip(ports, states)):
        text += (f'[[server]]\nname = "n{gpu}"\nstate = "{state}"\n[[server.instance]]\nname = "engine-{gpu}"\n'
                 f'url = "http://127.0.0.1:{port}/metrics"\ngpus = ["{gpu}"]\ntp = 1\n')
    return text


def addresses(ports):
    return [f"127.0.0.1:{port}" for port in ports]


@contextlib.contextmanager
def servers(ports):
    """An inference server a port, the first on GPU 0."""
    running = [subprocess.Popen([COMMAND, "twin", "serve", "--device", str(gpu), "--port", str(port), "--json", "--model", MODEL],
                                stdout=subprocess.PIPE, text=True) for gpu, port in enumerate(ports)]
    try:
        for one in running:
            one.stdout.readline()
        yield running
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait(timeout=30)
            one.stdout.close()


@contextlib.contextmanager
def load(port, rate, prompt):
    """Requests at that rate until the block ends."""
    process = subprocess.Popen([COMMAND, "bench", "run", "--url", f"http://127.0.0.1:{port}", "--sources", "none", "--rate", str(rate), "--constant",
                                "--input-tokens", str(prompt), "--output-tokens", "4", "--requests", "100000", "--for", "100s",
                                "--most-delay", "10s"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


class Controller:
    """perjoule fleet control, whose documents are read as they come."""

    def __init__(self, path, *words):
        self.process = subprocess.Popen([COMMAND, "fleet", "control", str(path), "--json", *words], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.documents = []
        atexit.register(self.process.kill)  # where the scene fails
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        """Until the stream ends; a half line of one that was killed is none."""
        for line in self.process.stdout:
            self.documents.append(json.loads(line))

    def find(self, **wanted):
        return [one for one in list(self.documents) if all(one.get(name) == value for name, value in wanted.items())]

    def load(self):
        """Of the first pool, when it was last looked at; 0 before."""
        periods = self.find(event="period")
        return periods[-1]["pools"][0]["load_tps"] if periods else 0

    def wait_until(self, condition, what, seconds=60):
        give_up = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < give_up and self.process.poll() is None, (what, self.process.poll(), self.documents)
            time.sleep(0.05)

    def wait_for(self, count=1, seconds=60, **wanted):
        self.wait_until(lambda: len(self.find(**wanted)) >= count, wanted, seconds)
        return self.find(**wanted)

    def end(self, status=128 + signal.SIGTERM, how=signal.SIGTERM):
        if how is not None:
            self.process.send_signal(how)
        assert self.process.wait(timeout=60) == status, (self.process.returncode, self.documents[-5:], self.process.stderr.read())
        self.reader.join()
        errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return errors


def clock_under_work(gpu):
    """What the GPU really runs at, MHz, when it has work: below the highest only by a lock."""
    twin = ctypes.CDLL("libnvidia-ml.so.1")
    with library(gpu) as (nvml, device):
        for _ in range(20):
            twin.perjoule_twin_run(gpu, ctypes.c_double(4e12), ctypes.c_double(0), ctypes.c_double(0.3))
        clock = ctypes.c_uint()
        assert nvml.nvmlDeviceGetClockInfo(device, 1, ctypes.byref(clock)) == 0
        return clock.value


def wait_for_clock(gpu, fits):
    give_up = time.monotonic() + 30
    while time.monotonic() < give_up:
        if fits(clock_under_work(gpu)):
            return
        time.sleep(0.1)
    raise AssertionError(f"GPU {gpu} runs at {clock_under_work(gpu)} MHz")


def journal():
    return sorted(one.name for one in KNOBS.glob("*clock*")) if KNOBS.exists() else []


class Scenes:
    def __init__(self, folder):
        self.folder = folder

    def write(self, text, table=None):
        (self.folder / "profile.csv").write_text(table or profile())
        path = self.folder / "fleet.toml"
        path.write_text(text)
        return path

    def clocks_follow_the_load(self):
        ports = free_ports(2)
        path = self.write(fleet(ports))
        with servers(ports) as running:
            control = Controller(path)
            with load(ports[0], 8, 50):
                # What little comes is carried at the lower clock.
                for one in ("engine-0", "engine-1"):
                    event = control.wait_for(event="clock", subject=one, result="done")[0]
                    assert f"{HIGH} MHz -> {LOW} MHz" in event["text"], event
                    assert event["why"]["carried_tps"] == 80000, event
                control.wait_until(lambda: control.load() > 0, "a load")
                for gpu in (0, 1):
                    wait_for_clock(gpu, lambda clock: clock <= LOW)
                assert len(journal()) == 2, journal()
                # Another controller is told that they are held, tries again, and does not end.
                second = Controller(path)
                told = second.wait_for(count=4, event="clock", result="failed")
                assert all("held by process" in one["failure"] for one in told), told
                second.end()
                assert len(journal()) == 2, journal()
            light = control.load()
            with load(ports[0], 20, 1500):
                up = [one for one in control.wait_for(count=2, event="clock", subject="engine-0", result="done")
                      if f"{LOW} MHz -> {HIGH} MHz" in one["text"]]
                # Because the load is above what the lower clock carries, or a queue grows before it is seen to be.
                assert up and up[0]["why"]["load_tps"] > light, control.find(event="clock")
                wait_for_clock(0, lambda clock: clock > LOW)
            # A server that dies is told of, and nothing is ordered of it.
            running[1].kill()
            lost = control.wait_for(event="note", subject="engine-1", trouble=True)[0]
            assert "gets no orders" in lost["text"], lost
            after = control.documents.index(lost)
            control.wait_for(count=len(control.find(event="period")) + 3, event="period")
            assert not [one for one in control.documents[after + 1:] if one.get("subject") == "engine-1"], control.documents[after:]
            assert control.find(event="period")[-1]["pools"][0]["carried_tps"] == 40000
            control.end()
            end = control.documents[-1]
            assert end["event"] == "end" and end["clocks_are_back"] and end["signal"] == signal.SIGTERM, end
            assert journal() == [], journal()
            for gpu in (0, 1):
                wait_for_clock(gpu, lambda clock: clock > LOW)

    def the_next_one_puts_back_what_a_killed_one_left(self):
        ports = free_ports(2)
        path = self.write(fleet(ports))
        with servers(ports), load(ports[0], 8, 50):
            control = Controller(path)
            control.wait_for(count=2, event="clock", result="done")
            control.end(-signal.SIGKILL, signal.SIGKILL)
            assert len(journal()) == 2, journal()
            wait_for_clock(0, lambda clock: clock <= LOW)
            dry = subprocess.run([COMMAND, "fleet", "control", str(path), "--dry-run", "--for", "2s"], text=True, capture_output=True, timeout=60,
                                 check=False)
            assert dry.returncode == 0 and len(journal()) == 2, (dry.stdout, dry.stderr)  # a dry run leaves even that
            shown = subprocess.run([COMMAND, "devices"], text=True, capture_output=True, timeout=60, check=True)
            assert shown.stderr.count("put back to unlocked") == 2, shown.stderr
            assert journal() == [], journal()
            for gpu in (0, 1):
                wait_for_clock(gpu, lambda clock: clock > LOW)

    def hooks_start_and_stop_servers(self):
        ports = free_ports(2)
        start = (f"{COMMAND} twin serve --device {{gpus}} --port {{port}} --model {MODEL} > /dev/null 2>&1 & echo $! > {self.folder}/{{instance}}.pid; "
                 f"echo {{server}} {{pool}} {{tp}} {{division}} >> {self.folder}/started")
        stop = f"kill $(cat {self.folder}/{{instance}}.pid) && echo {{instance}} >> {self.folder}/stopped"
        periods = 'instance-period = "3s"\nstart = "0s"'
        path = self.write(fleet(ports, "scale-inst", periods, f"[hooks]\nstart = '''{start}'''\nstop = '''{stop}'''", ("on", "off")),
                          profile(most_low=450, most_high=450))
        with servers(ports[:1]):
            control = Controller(path)
            with load(ports[0], 8, 150):  # some four times what one carries, were it to last
                begun = control.wait_for(event="start", subject="n1", result="begun")[0]
                assert begun["why"]["load_tps"] > 400, begun
                control.wait_for(event="note", subject="n1", text="serves")
                assert (self.folder / "started").read_text() == "n1 mixed 1 1\n"
                assert urllib.request.urlopen(f"http://127.0.0.1:{ports[1]}/health").status == 200
            # With the load gone one is enough; which of them that is, what runs on them says.
            control.wait_for(event="stop", result="done")
            stopped = control.find(event="stop", result="done")[0]["subject"]
            assert stopped == "n1" and (self.folder / "stopped").read_text() == "engine-1\n", control.documents
            with load(ports[0], 8, 150):
                control.wait_for(count=2, event="note", subject="n1", text="serves")
                control.end()
            # As it was found: on the one, off the other.
            assert (self.folder / "stopped").read_text() == "engine-1\n" * 2
            assert urllib.request.urlopen(f"http://127.0.0.1:{ports[0]}/health").status == 200
            assert control.documents[-1]["starts"] == 2 and control.documents[-1]["stops"] == 2, control.documents[-1]

    def hooks_that_fail_or_hang_are_told_and_tried_again(self):
        ports = free_ports(2)
        periods = 'instance-period = "20s"\nstart = "19s"'
        for hook, words in (("echo no such unit >&2; exit 3", ("status 3", "no such unit")), ("sleep 60", ("longer than 1.00 s",))):
            path = self.write(fleet(ports, "scale-inst", periods, f'[hooks]\nstart = "{hook}"\nstop = "true"\nwithin = "1s"', ("on", "off")),
                              profile(most_low=450, most_high=450))
            with servers(ports[:1]), load(ports[0], 8, 150):
                control = Controller(path)
                for event in control.wait_for(count=2, event="start", subject="n1", result="failed"):
                    assert all(word in event["failure"] for word in words), event
                control.wait_for(count=len(control.find(event="period")) + 1, event="period")
                control.end()
                assert control.documents[-1]["failed"] >= 2, control.documents[-1]

    def clocks_follow_what_prometheus_has(self):
        ports = free_ports(2)
        low_carries = 2 * 1000 / 1.1  # of both servers, under the margin
        with servers(ports), prometheus(self.folder, "vllm", addresses(ports)) as url:
            metrics = f'[prometheus]\nurl = "{url}"\nselector = \'job="vllm"\''
            # No request is late, however long the machine stands still, so that the load alone decides.
            levels = 'levels = { ttft = "2min", tbt = "2min" }'
            control = Controller(self.write(fleet(ports, more=levels, metrics=metrics), profile(most_low=1000)))

            def settled(clock, fits):
                """Both were last set to that clock, and the load is one that it is for: by what it is now, not by when it came."""
                last = [control.find(event="clock", subject=one, result="done")[-1:] for one in ("engine-0", "engine-1")]
                return fits(control.load()) and all(one and f"-> {clock} MHz" in one[0]["text"] for one in last)

            for rate, prompt, clock, fits in ((8, 50, LOW, lambda load: 0 < load < low_carries), (20, 300, HIGH, lambda load: load > low_carries),
                                              (8, 50, LOW, lambda load: 0 < load < low_carries)):
                with load(ports[0], rate, prompt):
                    control.wait_until(lambda: settled(clock, fits), f"{clock} MHz", seconds=120)
                    for gpu in (0, 1):
                        wait_for_clock(gpu, lambda now: (now <= LOW) == (clock == LOW))
            control.end()
            assert control.documents[-1]["clocks_are_back"] and control.documents[-1]["clock_changes"] >= 6, control.documents[-1]
            # What the selector leaves out is not read.
            control = Controller(self.write(fleet(ports, metrics=metrics.replace("vllm", "other")), profile(most_low=1000)))
            for port, note in zip(ports, control.wait_for(count=2, event="note", trouble=True)):
                assert f'no engine\'s series with instance="127.0.0.1:{port}"' in note["text"], note
            control.end()
            assert not control.find(event="clock"), control.documents

    def a_dry_run_touches_nothing(self):
        ports = free_ports(2)
        touched = self.folder / "touched"
        hooks = f"[hooks]\npreset = \"systemd\"\ndrain = 'touch {touched}'"
        more = 'instance-period = "2s"\nshard-period = "2s"\nstart = "0s"'
        with servers(ports), load(ports[0], 8, 50):
            path = self.write(fleet(ports, "all-knobs", more, hooks))
            control = Controller(path, "--dry-run")
            begin = control.wait_for(event="begin")[0]
            assert begin["dry_run"] and begin["servers"][1]["commands"]["start"] == ["systemctl start engine-1.service"], begin
            assert begin["servers"][0]["commands"]["drain"] == [f"touch {touched}"], begin
            control.wait_for(event="clock", result="would")
            control.wait_for(event="stop", result="would")
            control.end()
            assert not control.find(result="done") and not control.find(result="begun") and not control.find(result="failed")
            assert control.documents[-1]["event"] == "end" and control.documents[-1]["clocks_are_back"], control.documents[-1]
            text = subprocess.run([COMMAND, "fleet", "control", str(path), "--dry-run", "--for", "1s"], text=True, capture_output=True, timeout=60,
                                  check=True).stdout
            for words in ("dry run, nothing is changed", "to start: systemctl start engine-0.service", "to stop: systemctl stop engine-1.service",
                          "estimated: which share", "made up for a test (simulated)"):
                assert words in text, text
            assert not re.search(r"\d (W|J|kWh)\b", text), text
        assert not touched.exists() and not KNOBS.exists()
        wait_for_clock(0, lambda clock: clock > LOW)


    def other_days_say_what_is_expected(self):
        ports = free_ports(2)
        now = datetime.datetime.now(datetime.timezone.utc)

        def history(here, else_where):
            """Bins of an hour of a day that began at 0:00 UTC: one load in this hour and the next, another in all the others."""
            near = (now.hour, (now.hour + 1) % 24)
            return "start_s,duration_s,prompt_tps\n" + "".join(f"{3600 * hour},3600,{here if hour in near else else_where}\n" for hour in range(24))

        more = 'instance-period = "2s"\nstart = "0s"\nhistory = "day.csv"'
        path = self.write(fleet(ports, "scale-inst", more, '[hooks]\nstart = "false"\nstop = "false"', ("on", "off")),
                          profile(most_low=450, most_high=450))
        with servers(ports[:1]), load(ports[0], 8, 30):  # some 240 a second
            (self.folder / "day.csv").write_text(history(700, 10))
            control = Controller(path, "--dry-run")
            expected = []  # of each decision to start the one that is off

            def is_expected():
                expected[:] = [one["why"] for one in control.find(event="start", subject="n1", result="would")]
                return [why for why in expected if why["expected_by"] == "history" and 690 < why["expected_tps"] < 1401]

            control.wait_until(is_expected, expected)
            forecast = control.find(event="begin")[0]["forecast"]
            assert forecast["basis"] == "history" and forecast["file"] == str(self.folder / "day.csv"), forecast
            assert forecast["repeats_s"] == 86400 and forecast["bin_s"] == 3600 and forecast["begins_unix_s"] % 86400 == 0, forecast
            control.end()
            # At this time of the day other days had next to nothing: what comes now counts.
            (self.folder / "day.csv").write_text(history(10, 700))
            control = Controller(path, "--dry-run")
            control.wait_until(lambda: [one for one in control.find(event="period") if one["pools"][0]["expected_by"] == "present"], "the present load")
            control.end()
            text = subprocess.run([COMMAND, "fleet", "control", str(path), "--dry-run", "--for", "1s"], text=True, capture_output=True, timeout=60,
                                  check=True).stdout
            assert "day.csv by the time of the day, 1 d in bins of" in text and "no history" not in text, text


class FleetControl(TwinTest):
    def test_clocks_follow_the_load_and_are_back_at_the_end(self):
        self.on_twin("clocks_follow_the_load", "h100:2")

    @needs_prometheus
    def test_clocks_follow_what_prometheus_has(self):
        self.on_twin("clocks_follow_what_prometheus_has", "h100:2")

    def test_a_killed_controllers_clocks_are_put_back_by_the_next(self):
        self.on_twin("the_next_one_puts_back_what_a_killed_one_left", "h100:2")

    def test_hooks_start_and_stop_servers(self):
        self.on_twin("hooks_start_and_stop_servers", "h100:2")

    def test_hooks_that_fail_or_hang(self):
        self.on_twin("hooks_that_fail_or_hang_are_told_and_tried_again", "h100:2")

    def test_other_days_say_what_is_expected(self):
        self.on_twin("other_days_say_what_is_expected", "h100:2")

    def test_a_dry_run_touches_nothing(self):
        self.on_twin("a_dry_run_touches_nothing", "h100:2")


class FleetFile(CommandTest):
    """Files that make no sense, each told by its line."""

    def refused(self, text, *wanted, status=2, table=None):
        self.write("profile.csv", table or profile())
        path = self.write("fleet.toml", text)
        ended = self.call("fleet", "control", path, "--for", "1s")
        self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr)
        for words in wanted:
            self.assertIn(words, ended.stderr)

    def test_files_that_make_no_sense(self):
        good = fleet((1, 2))
        self.refused("[fleet", "fleet.toml:1")
        self.refused(good.replace("scale-freq", "fast"), "fleet.toml:1", "fast", "all-knobs")
        self.refused(good.replace("every", "evry"), "fleet.toml:4", "evry", "instance-period")
        self.refused(good.replace('"1s"', '"1 fortnight"'), "fleet.toml:4", "a time above 0")
        self.refused(good.replace("tp = 1", "tp = 2"), "needs 2 GPU of its own", "has 1")
        self.refused(good.replace('["0"]', '["0", "1"]').replace('["1"]', '["2", "3"]').replace("tp = 1", "tp = 2"), "no curve of tp2",
                     "it has tp1")
        self.refused(good.replace("engine-1", "engine-0"), "engine-0", "second")
        self.refused(good.replace("scale-freq", "scale-inst"), "needs a command to start servers")
        self.refused(good.replace("[[server]]", '[hooks]\nstart = "run {machine}"\n[[server]]', 1), "{machine}", "{instance}")
        self.refused(good.replace("[[server]]", '[hooks]\npreset = "nomad"\n[[server]]', 1), "nomad", "systemd")
        self.refused(good.replace('state = "on"', 'pool = "XX"'), "XX", "mixed")
        self.refused(good.replace('"on"', '"maybe"'), "on or off")
        self.refused(good.replace("every", 'model = "other"\nevery'), "no curve of model 'other'", MODEL)
        self.refused(good, "profile.csv: no serving profile", table="time,power\n1,2\n")
        self.refused("", "no [fleet]")
        self.refused(good[:good.index("[[server]]")], "no [[server]]")
        self.refused(good.replace("scale-freq", "all-knobs").replace("every", 'shard-period = "2500ms"\nevery') + "", "command")
        history = good.replace("every", 'history = "day.csv"\nevery')
        self.refused(history, "fleet.toml:4: history: ", "day.csv")
        for table, words in (("start_s,duration_s,prompt_tps\n0,3600,5\n", "less than a day"), ("a,b\n1,2\n", "neither a trace"),
                             ("start_s,duration_s,prompt_tps\n0,3600,5\n3600,3600,x\n", "line 3")):
            self.write("day.csv", table)
            self.refused(history, "fleet.toml:4: history: ", "day.csv", words)
        classes = history.replace('state = "on"', 'pool = "MM"')
        self.write("day.csv", "start_s,duration_s,prompt_tps\n0,86400,5\n")
        self.refused(classes, "fleet.toml:4: history: ", "the fleet has pools of classes")
        self.write("day.csv", "start_s,duration_s,prompt_tps:SS\n0,86400,5\n")
        self.refused(classes, "a load of class SS, of which the fleet has no pool")
        ended = self.call("fleet", "control", str(self.folder / "none.toml"))
        self.assertEqual((ended.returncode, "none.toml" in ended.stderr), (2, True), ended.stderr)

    def test_clocks_of_gpus_that_are_not_here(self):
        self.refused(fleet((1, 2)), "engine-0", status=2)


if __name__ == "__main__":
    main(Scenes)
