"""Recurring trainings with a daemon: train batch-size --daemon, and the same calls over HTTP."""
import json
import subprocess

from command import COMMAND, TwinTest, main
from serve_test import ask, daemon

SIZES = (32, 64, 128, 256)
DEFINITION = {"batch_sizes": list(SIZES), "default_batch": 64, "target": 0.9, "max_power_w": 300, "seed": 7}


def training(size, trial):
    """Epochs of a made-up training: kilojoules and seconds so far, and the metric."""
    best = {32: 7, 64: 6, 128: 4, 256: 9}[size] + trial % 3
    return [(epoch * (2 + size / 64), epoch * 10, None if size == 256 and trial % 2 else 0.95 if epoch == best else 0.5) for epoch in range(1, best + 1)]


class Scenes:
    def __init__(self, folder):
        self.folder = folder
        self.socket = f"{folder}/socket"

    def verb(self, *words, status=0):
        ended = subprocess.run([COMMAND, "train", "batch-size", *words], capture_output=True, text=True, check=False, timeout=60)
        assert ended.returncode == status, (words, ended)
        return ended.stdout

    def by_verbs(self, policy, *daemon_words):
        """What a job decides, asked by the command."""
        said = [self.verb("create", policy, "--batch-sizes", "32,64,128,256", "--default", "64", "--target", "0.9", "--max-power", "300W", "--seed", "7",
                          "--policy", policy, *daemon_words)]
        for _ in range(14):
            trial, size = self.verb("ask", policy, *daemon_words).split()
            said.append((trial, size))
            for epoch, (kilojoules, seconds, metric) in enumerate(training(int(size), int(trial)), 1):
                words = ["report", policy, trial, "--epochs", str(epoch), "--energy", f"{kilojoules}kJ", "--time", f"{seconds}s", "--metric",
                         "nan" if metric is None else str(metric), *daemon_words]
                ended = subprocess.run([COMMAND, "train", "batch-size", *words], capture_output=True, text=True, check=False, timeout=60)
                verdict = ended.stdout.strip()
                assert ended.returncode == (1 if verdict == "stop" else 0), ended
                said.append(verdict)
                if verdict != "continue":
                    break
        trial = self.verb("ask", policy, *daemon_words).split()[0]
        said.append(self.verb("abandon", policy, trial, *daemon_words))
        said.append(self.verb("show", policy, *daemon_words))
        said.append(json.loads(self.verb("show", policy, "--json", *daemon_words)))
        return said

    def by_http(self, policy):
        """The same, asked by a trainer that has no command."""
        job = f"/api/v1/jobs/{policy}"
        assert ask(self.socket, "PUT", job, {**DEFINITION, "policy": policy})[0] == 200
        said = []
        for _ in range(14):
            status, _, trial = ask(self.socket, "POST", f"{job}/next")
            assert status == 200, trial
            said.append((str(trial["trial"]), str(trial["batch_size"])))
            for epoch, (kilojoules, seconds, metric) in enumerate(training(trial["batch_size"], trial["trial"]), 1):
                report = {"trial": trial["trial"], "epochs": epoch, "energy_j": kilojoules * 1000, "time_s": seconds, "metric": metric}
                status, _, answer = ask(self.socket, "POST", f"{job}/report", report)
                assert status == 200, answer
                said.append(answer["verdict"])
                if answer["verdict"] != "continue":
                    break
        return said

    def it_decides_as_without_a_daemon(self):
        with daemon(self.folder, "--store", str(self.folder / "daemon.db"), "--change-rate", "0") as begun:
            there = ["--daemon", f"unix:{self.socket}"]
            assert begun["addresses"] == [f"unix:{self.socket}"], begun
            for policy in ("perjoule", "zeus"):
                alone = self.by_verbs(policy)
                assert len({size for _, size in (one for one in alone if isinstance(one, tuple))}) > 2, alone
                assert self.by_verbs(policy, *there) == alone
                assert self.verb("remove", policy, *there) == f"job {policy} is gone\n"
                decided = self.by_http(policy)
                assert decided == alone[1:1 + len(decided)], (decided, alone)
            assert self.verb("list", *there).split() == sorted(("perjoule", "zeus")) == self.verb("list").split()
            assert ask(self.socket, "GET", "/api/v1/jobs")[2]["jobs"] == ["perjoule", "zeus"]
            # What is wrong is said in the same words, with the same exit status.
            for words, status in ((("ask", "weekly"), 2), (("abandon", "zeus", "99"), 2), (("remove", "weekly"), 2),
                                  (("create", "zeus", "--batch-sizes", "32,64", "--default", "64", "--target", "1", "--max-power", "1W"), 3),
                                  (("create", "bad", "--batch-sizes", "32,64", "--default", "65", "--target", "1", "--max-power", "1W"), 2)):
                ended = [subprocess.run([COMMAND, "train", "batch-size", *words, *more], capture_output=True, text=True, check=False, timeout=60) for more in ((), there)]
                assert ended[0].stderr == ended[1].stderr and ended[0].returncode == ended[1].returncode == status, (words, ended)
            for method, target, body, status in (("PUT", "bad", {}, 400), ("PUT", "bad", {**DEFINITION, "speed": 1}, 400), ("PUT", "b%20d", DEFINITION, 400),
                                                 ("POST", "weekly/next", None, 404), ("POST", "zeus/next", {}, 400), ("POST", "zeus/report", {"trial": 1}, 400),
                                                 ("POST", "zeus/abandon", {"trial": 0}, 404), ("GET", "weekly", None, 404), ("DELETE", "weekly", None, 404)):
                told = ask(self.socket, method, f"/api/v1/jobs/{target}", body)
                assert told[0] == status, (method, target, told)


class Jobs(TwinTest):
    def test_decisions(self):
        self.on_twin("it_decides_as_without_a_daemon", "h100:1")


if __name__ == "__main__":
    main(Scenes)
