"""The probe for real GPUs, run on a simulated one: every question is answered, and as the twin was built to answer.

Usage: check_on_twin.py PERJOULE GPU_PROBE
"""
import json
import subprocess
import sys
import tempfile

perjoule, probe = sys.argv[1:3]
with tempfile.NamedTemporaryFile() as report:
    subprocess.run([perjoule, "twin", "run", "--gpu", "h200", "--", probe, "--json", report.name], check=True)
    answers = json.load(open(report.name))
assert "not_answered" not in answers, answers["not_answered"]
assert abs(answers["counter_gap_ms"] - 100) < 10, answers
assert answers["idle_w"] < answers["context_w"] < answers["load_w"], answers
assert 0.95 < answers["square_wave_ratio"] < 1.05, answers
assert 0 < answers["cap_first_step_ms"] <= answers["cap_settled_ms"] < 500, answers
print("gpu_probe: every question answered on the twin")
