"""Pipeline trainings whose ranks ask a daemon instead of a plan server's socket."""
import json

from command import TwinTest, main
from serve_test import UnixConnection, ask, daemon

JOB = {"stages": 2, "microbatches": 2, "clocks_mhz": [1410, 1200, 1005], "only_profile": True, "warm_up": 2, "rounds": 2, "timeout_s": 60}


class Scenes:
    def __init__(self, folder):
        self.socket = f"{folder}/socket"

    def post(self, target, body, status=200):
        got, _, answer = ask(self.socket, "POST", f"/api/v1/pipelines{target}", body)
        assert got == status, (target, str(body)[:200], got, answer)
        return answer

    def ranks_are_answered(self):
        with daemon(self.socket.rsplit("/", 1)[0], "--change-rate", "20"):
            pipeline = self.post("", JOB, 201)["id"]
            asked = f"/{pipeline}/ask"
            place = {"call": "join", "pipeline": 0, "tensor": 0}
            for stage in (0, 1):
                self.join(asked, {**place, "stage": stage, "client": f"rank{stage}"})
            # Forty iterations of two ranks are no changes too many.
            orders = [[self.post(asked, {"client": f"rank{stage}", "call": "next", "iteration": i}) for i in range(40)] for stage in (0, 1)]
            assert [one["epoch"] for one in orders[0]] == [one["epoch"] for one in orders[1]], orders
            assert len({json.dumps(one) for one in orders[0]}) > 3, orders[0]
            known = orders[0][-1]["epoch"]
            assert self.post(asked, {"client": "rank0", "call": "next", "iteration": 39, "have": known}) == {"epoch": known}
            run = ask(self.socket, "GET", f"/api/v1/pipelines/{pipeline}")[2]
            assert run["schema"] == "perjoule.pipeline-run.v1" and run["stages"] == 2 and run["lost_ranks"] == 0, run
            self.post(f"/{pipeline}/straggler", {"pipeline": 0, "slowdown": 1.2})
            self.post(f"/{pipeline}/straggler", {"pipeline": 0, "over": True})
            self.post(f"/{pipeline}/straggler", {"pipeline": 7, "slowdown": 1.2}, 400)
            # Two megabytes are taken here, and nowhere else.
            self.post(asked, {"client": "rank0", "call": "next", "iteration": 40, "more": "x" * 2_000_000})
            assert self.refusal_of_length("/api/v1/pipelines", 2_000_000) == 413
            assert self.refusal_of_length(f"/api/v1/pipelines{asked}", 70_000_000) == 413
            self.post(asked, {"client": "rank0", "call": "leave"})
            self.post(asked, {"client": "rank0", "call": "next", "iteration": 41}, 400)
            self.post(asked, {"call": "status"}, 400)
            self.post("/pipeline-99/ask", {"client": "a", "call": "status"}, 404)
            self.post("", {"stages": 2, "speed": 1}, 400)
            assert ask(self.socket, "GET", "/api/v1/pipelines")[2]["pipelines"] == [pipeline]
            assert ask(self.socket, "DELETE", f"/api/v1/pipelines/{pipeline}")[0] == 204
            assert ask(self.socket, "GET", f"/api/v1/pipelines/{pipeline}")[0] == 404

    def refusal_of_length(self, target, length):
        """The status that a body's length alone is answered with, before it comes."""
        connection = UnixConnection(self.socket)
        connection.putrequest("POST", target)
        connection.putheader("Content-Length", str(length))
        connection.endheaders()
        status = connection.getresponse().status
        connection.close()
        return status

    def join(self, asked, place):
        """As a rank of an H100 says it."""
        counter = {"id": "gpu:x", "device": "gpu:x", "backend": "nvml", "scope": "board", "boundary": 0, "status": "simulated", "tick_s": 0.02,
                   "averaging_s": 0, "coverage": 1, "quantum_j": 0.001, "gain": 0.05, "offset_w": 5, "max_power_w": 1400}
        return self.post(asked, {**place, "lowest_mhz": 210, "highest_mhz": 1980, "counter": counter})


class Pipelines(TwinTest):
    def test_ranks(self):
        self.on_twin("ranks_are_answered", "h100:1")


if __name__ == "__main__":
    main(Scenes)
