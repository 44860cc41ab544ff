"""pynvml, written by strangers from the vendor's header, against the stand-in library."""

import os
import sys
import time

import pynvml as nvml

EXPECTED = {"h100": ("NVIDIA H100 80GB HBM3", 700000), "v100": ("Tesla V100-SXM2-16GB", 300000)}


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def check_device(index, key):
    name, limit = EXPECTED[key]
    device = nvml.nvmlDeviceGetHandleByIndex(index)
    assert text(nvml.nvmlDeviceGetName(device)) == name
    assert nvml.nvmlDeviceGetIndex(device) == index
    assert text(nvml.nvmlDeviceGetUUID(device)).startswith("GPU-")
    assert nvml.nvmlDeviceGetPowerManagementLimit(device) == limit
    assert nvml.nvmlDeviceGetPowerManagementDefaultLimit(device) == limit
    low, high = nvml.nvmlDeviceGetPowerManagementLimitConstraints(device)
    assert low < high == limit
    assert len(text(nvml.nvmlDeviceGetPciInfo(device).busId)) == 16
    memory = nvml.nvmlDeviceGetMemoryInfo(device)
    assert memory.used + memory.free == memory.total
    assert 20 < nvml.nvmlDeviceGetTemperature(device, nvml.NVML_TEMPERATURE_GPU) < 90
    clock = nvml.nvmlDeviceGetClockInfo(device, nvml.NVML_CLOCK_SM)
    assert 0 < clock <= nvml.nvmlDeviceGetMaxClockInfo(device, nvml.NVML_CLOCK_SM)
    for memory_clock in nvml.nvmlDeviceGetSupportedMemoryClocks(device):
        assert len(nvml.nvmlDeviceGetSupportedGraphicsClocks(device, memory_clock)) > 50
    nvml.nvmlDeviceGetUtilizationRates(device)
    nvml.nvmlDeviceGetPersistenceMode(device)
    nvml.nvmlDeviceGetCurrentClocksThrottleReasons(device)
    return device


def main():
    nvml.nvmlInit()
    assert "simulated" in text(nvml.nvmlSystemGetDriverVersion())
    assert nvml.nvmlDeviceGetCount() == 2
    h100 = check_device(0, "h100")
    v100 = check_device(1, "v100")

    began = time.monotonic()
    begin = nvml.nvmlDeviceGetTotalEnergyConsumption(h100)
    time.sleep(0.6)
    used = (nvml.nvmlDeviceGetTotalEnergyConsumption(h100) - begin) * 1e-3
    took = time.monotonic() - began  # longer than it slept where the machine is busy
    assert 30 * 0.6 < used < 750 * took, (used, took)
    assert nvml.nvmlDeviceGetPowerUsage(h100) > 50000

    nvml.nvmlDeviceSetPowerManagementLimit(h100, 350000)
    assert nvml.nvmlDeviceGetEnforcedPowerLimit(h100) == 350000
    try:
        nvml.nvmlDeviceSetPowerManagementLimit(h100, 1)
        raise AssertionError("an impossible limit was taken")
    except nvml.NVMLError_InvalidArgument:
        pass

    pids = [process.pid for process in nvml.nvmlDeviceGetComputeRunningProcesses(h100)]
    assert int(os.environ["WORKER"]) in pids, pids
    assert nvml.nvmlDeviceGetMigMode(h100) == [0, 0]
    try:
        nvml.nvmlDeviceGetMigMode(v100)
        raise AssertionError("a V100 has MIG")
    except nvml.NVMLError_NotSupported:
        pass
    if hasattr(nvml, "nvmlDeviceGetFieldValues"):
        energy = nvml.nvmlDeviceGetFieldValues(h100, [83])[0]
        assert energy.nvmlReturn == 0 and energy.value.ullVal > begin
    nvml.nvmlShutdown()
    print("pynvml: agrees")


if __name__ == "__main__":
    sys.exit(main())
