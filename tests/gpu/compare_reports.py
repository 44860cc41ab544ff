"""Two reports of gpu_probe side by side: hardware, then twin. Usage: compare_reports.py HARDWARE.json TWIN.json"""
import json
import sys


def flat(document, prefix=""):
    for name, value in document.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


hardware, twin = (dict(flat(json.load(open(path)))) for path in sys.argv[1:3])
print(f"{'question':<30}{'hardware':>24}{'twin':>24}{'twin/hardware':>15}")
for name in dict.fromkeys([*hardware, *twin]):
    one, other = hardware.get(name, "-"), twin.get(name, "-")
    both = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (one, other))
    ratio = f"{other / one:.3f}" if both and one else ""
    print(f"{name:<30}{text(one):>24}{text(other):>24}{ratio:>15}")
