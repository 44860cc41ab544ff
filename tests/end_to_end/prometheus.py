"""A real Prometheus (Debian's package), as the tests here start it."""
import contextlib
import json
import shutil
import subprocess
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from command import free_ports


def needs_prometheus(test):
    return unittest.skipUnless(shutil.which("prometheus"), "no Prometheus is installed")(test)


def answer(url, query):
    """The values of an instant query; none while the server is not there yet."""
    try:
        with urllib.request.urlopen(f"{url}/api/v1/query?{urllib.parse.urlencode({'query': query})}", timeout=10) as got:
            return [float(one["value"][1]) for one in json.load(got)["data"]["result"]]
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return []


@contextlib.contextmanager
def prometheus(folder, job, targets, scrapes=2):
    """The URL of one that scrapes the targets ("host:port") every second, once it has done so that often."""
    config = folder / "prometheus.yml"
    config.write_text("global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
                      f"scrape_configs: [{{job_name: {job}, static_configs: [{{targets: {json.dumps(targets)}}}]}}]\n")
    port, = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    log = folder / "prometheus.log"
    with log.open("w") as output:
        process = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}",
                                    f"--web.listen-address=127.0.0.1:{port}"], stdout=output, stderr=output)
    try:
        give_up = time.monotonic() + 120
        while len(seen := answer(url, f'sum_over_time(up{{job="{job}"}}[1h])')) < len(targets) or min(seen) < scrapes:
            assert process.poll() is None and time.monotonic() < give_up, (seen, log.read_text()[-2000:])
            time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()
