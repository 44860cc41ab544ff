"""The release command as a user has it: what every end-to-end test here stands on.

PERJOULE_COMMAND names the command. Each test has a folder of its own for runs and knobs, and nothing of the user's
environment that Perjoule reads."""
import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

COMMAND = os.environ["PERJOULE_COMMAND"]


NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def needs_nobody(test):
    """Skips a test that acts as an ordinary user where that cannot be: not root, or the command lies in a folder
    that other users may not enter."""
    able = os.geteuid() == 0 and shutil.which("setpriv") is not None
    able = able and subprocess.run([*NOBODY, "test", "-x", COMMAND], check=False).returncode == 0
    return unittest.skipUnless(able, "cannot act as another user here")(test)


def free_ports(count):
    """Ports that nobody has now, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="perjoule-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("PERJOULE_")}
        self.environment.update(
            PERJOULE_STATE=str(self.folder / "state"), PERJOULE_KNOBS=str(self.folder / "knobs"),
            PERJOULE_COMMAND=COMMAND)

    def start(self, *words, before=(), **more):
        """The command, started and not waited for."""
        environment = dict(self.environment, **more.pop("variables", {}))
        return subprocess.Popen([*before, COMMAND, *words], env=environment, text=True, errors="replace", stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **more)

    def call(self, *words, **more):
        """The command, run to its end."""
        process = self.start(*words, **more)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def json(self, *words, **more):
        """The document that it prints: all that stands on standard output."""
        result = self.call(*words, **more)
        self.assertTrue(result.stdout.startswith("{"), result.stdout + result.stderr)
        return json.loads(result.stdout)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def wait_for(self, condition, what, seconds=30):
        give_up = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), give_up, f"waited in vain for {what}")
            time.sleep(0.02)


class TwinTest(CommandTest):
    """A test whose scenes run within a simulated machine: methods of the file's class Scenes."""

    def on_twin(self, scene, gpu="h100", fault=None):
        script = sys.modules[type(self).__module__].__file__
        environment = dict(self.environment, SCENE_FOLDER=str(self.folder))
        ended = subprocess.run(
            [COMMAND, "twin", "run", "--gpu", gpu, *(["--fault", fault] if fault else []), "--", sys.executable, script, "scene", scene],
            env=environment, text=True, capture_output=True, timeout=200, check=False)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        return ended


@contextlib.contextmanager
def library(gpu):
    """The vendor's library and its handle of a GPU, as any other program has them."""
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    assert nvml.nvmlInit_v2() == 0
    device = ctypes.c_void_p()
    assert nvml.nvmlDeviceGetHandleByIndex_v2(gpu, ctypes.byref(device)) == 0
    yield nvml, device
    nvml.nvmlShutdown()


def limit_mw(gpu=0):
    """A GPU's power limit."""
    value = ctypes.c_uint()
    with library(gpu) as (nvml, device):
        assert nvml.nvmlDeviceGetPowerManagementLimit(device, ctypes.byref(value)) == 0
    return value.value


def set_limit(limit, gpu=0):
    """Sets a GPU's power limit, mW, as its administrator may have done before."""
    with library(gpu) as (nvml, device):
        assert nvml.nvmlDeviceSetPowerManagementLimit(device, ctypes.c_uint(limit)) == 0


def wait_for_limit(wanted):
    for _ in range(500):
        if limit_mw() == wanted:
            return
        time.sleep(0.02)
    raise AssertionError(f"the limit stayed at {limit_mw()}")


def main(scenes=None):
    """Runs the tests, or, within a simulated machine, the scene that the words name."""
    if scenes is not None and len(sys.argv) == 3 and sys.argv[1] == "scene":
        getattr(scenes(pathlib.Path(os.environ["SCENE_FOLDER"])), sys.argv[2])()
    else:
        unittest.main(verbosity=2)
