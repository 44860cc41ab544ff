"""Tables that ./make gives to the command, written into the present folder. All made up: they only have the right shape."""
import math


def write(name, header, rows):
    with open(name, "w", encoding="utf-8") as file:
        file.write(header + "\n")
        file.writelines(row + "\n" for row in rows)


def instruction(stage, name, clock, work):
    share = clock / 1410
    took = work * (0.35 + 0.65 / share)
    return f"{stage},{name},{clock},{took:.6g},{took * (75 + 250 * share ** 2.6):.6g}"


INSTRUCTIONS = (("forward", 0.05), ("backward", 0.1))
# Four stages, the second of which is the slowest.
write("four.csv", "stage,instruction,frequency,time,energy",
      [instruction(stage, name, clock, work * part) for stage, work in enumerate((1.0, 1.25, 1.1, 0.9))
       for name, part in INSTRUCTIONS for clock in range(810, 1411, 60)])
# What the example trainer does on two simulated A100.
write("two.csv", "stage,instruction,frequency,time,energy",
      [f"{stage},{name},{clock},{took},{took * (90 + 230 * (clock / 1410) ** 3)}" for stage, work in enumerate((1.0, 1.3))
       for name, part in (("forward", 0.0129), ("backward", 0.0258)) for clock in (1410, 1230, 1050, 900)
       for took in (part * work * 1410 / clock,)])

write("requests.csv", "TIMESTAMP,ContextTokens,GeneratedTokens",
      [f"2024-05-10 00:{i // 300:02d}:{i % 300 / 5:06.3f},{100 + 373 * i % 3000},{20 + 97 * i % 500}" for i in range(3000)])

rows = []
for tp, most in ((4, 2400), (8, 5200)):
    for clock in (990, 1200, 1410, 1620, 1980):
        share = clock / 1980
        for step in range(11):
            busy = step / 10
            power = tp * (90 + 60 * share + (150 + 330 * share ** 2.4) * busy ** 0.8)
            ttft, tbt = 80 / share * (1 + 1.3 * busy / (1.05 - busy)), 18 / share * (1 + 0.9 * busy ** 2)
            rows.append(f"llama-70b,H100,{tp},1,{clock},,{most * (0.3 + 0.7 * share) * busy:.6g},,{power:.6g},{ttft:.5g},{2 * ttft:.5g},"
                        f"{3 * ttft:.5g},{tbt:.5g},{1.4 * tbt:.5g},{1.7 * tbt:.5g},estimated,made up")
write("serving.csv", "model,gpu,tp,pp,clock_mhz,class,load_tps,attainment,power_w,ttft_mean_ms,ttft_p90_ms,ttft_p99_ms,tbt_mean_ms,tbt_p90_ms,"
      "tbt_p99_ms,status,origin", rows)
write("load.csv", "start_s,duration_s,prompt_tps",
      [f"{hour * 3600},3600,{9000 * (0.35 + 0.65 * math.exp(-((hour - 14) / 4.5) ** 2)) + 500 * math.sin(hour * 1.7):.6g}" for hour in range(24)])

SWEEP = """[run]
url = "http://127.0.0.1:18277"
requests = 160
input-tokens = "uniform:400:300"
output-tokens = "exponential:100"
limit = ["ttft=500ms,tpot=30ms"]
window = "best"

[server]
command = "exec perjoule twin serve --port 18277 --model llama-3.1-8b --max-num-seqs {max-num-seqs}"
ready = "http://127.0.0.1:18277/health"
ready-within = "20s"

[[sweep]]
max-num-seqs = [8, 64]
concurrency = [8, 16, 64]
"""
with open("sweep.toml", "w", encoding="utf-8") as file:
    file.write(SWEEP)
