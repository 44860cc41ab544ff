#!/usr/bin/python3
"""A Python client of bench/stream_sender.cc, as vLLM's, AIPerf's and most others' read their streams: aiohttp, a line at a
time, each event parsed and then stamped. Usage: stream_peer.py PORT STREAMS CHUNKS OUTPUT

OUTPUT gets the stamps, nanoseconds of CLOCK_MONOTONIC as 64-bit integers, stream by stream; a stream that is not whole ends
it with status 1."""
import array
import asyncio
import json
import resource
import sys
import time

import aiohttp


async def read(session, port, stream, stamps):
    body = {"model": "m", "prompt": f"p{stream}", "stream": True, "stream_options": {"include_usage": True}}
    tokens = 0
    # Without the space that json.dumps puts behind a colon: the sender looks for the prompt as our client writes it.
    text = json.dumps(body, separators=(",", ":"))
    async with session.post(f"http://127.0.0.1:{port}/v1/completions", data=text) as response:
        async for line in response.content:
            line = line.strip()
            if not line:
                continue
            event = line.decode().removeprefix("data: ")
            if event == "[DONE]":
                continue
            data = json.loads(event)
            if data["choices"][0].get("text"):
                stamps.append(time.perf_counter_ns())
            if usage := data.get("usage"):
                tokens = usage["completion_tokens"]
    return tokens


async def main(port, streams, chunks, output):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    stamps = [array.array("q") for _ in range(streams)]
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=600)) as session:
        tokens = await asyncio.gather(*(read(session, port, i, stamps[i]) for i in range(streams)))
    with open(output, "wb") as file:
        for one in stamps:
            one.tofile(file)
    return 0 if all(count == chunks for count in tokens) and all(len(one) == chunks for one in stamps) else 1


sys.exit(asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])))
