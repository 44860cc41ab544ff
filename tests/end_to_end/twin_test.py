"""perjoule twin run: what a simulated device draws does not depend on who looks, nor on how its workload ended."""
import ctypes
import os
import signal
import subprocess
import time

from command import COMMAND, TwinTest, main


class Twin(TwinTest):
    def test_a_device_idles_deeply_again_once_its_workload_has_ended(self):
        self.on_twin("ended")

    def test_and_once_it_was_killed(self):
        self.on_twin("killed")


def idle_watts():
    """By two readings of the counter alone: nobody asks who uses the device."""
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    assert nvml.nvmlInit_v2() == 0
    device = ctypes.c_void_p()
    assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
    joules, at = [], []
    for _ in range(2):
        value = ctypes.c_ulonglong()
        assert nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(value)) == 0
        joules.append(value.value / 1000)
        at.append(time.monotonic())
        time.sleep(2 if len(joules) == 1 else 0)
    nvml.nvmlShutdown()
    return (joules[1] - joules[0]) / (at[1] - at[0])


class Scenes:
    WORK = [COMMAND, "twin", "work", "matmul", "--duty", "0.5", "--steps"]

    def __init__(self, folder):
        self.fresh = idle_watts()

    def check_idle(self):
        time.sleep(1)
        # Warmer than before by what its work left, and no context: 40 W more.
        assert abs(idle_watts() - self.fresh) < 0.15 * self.fresh, (self.fresh, idle_watts())

    def ended(self):
        subprocess.run([*self.WORK, "4"], stdout=subprocess.DEVNULL, check=True)
        self.check_idle()

    def killed(self):
        work = subprocess.Popen([*self.WORK, "1000"], stdout=subprocess.DEVNULL)
        time.sleep(1)
        os.kill(work.pid, signal.SIGKILL)
        self.check_idle()  # a zombie till then
        work.wait()


if __name__ == "__main__":
    main(Scenes)
