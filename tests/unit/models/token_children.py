"""Processes that share a sign-in: on each line of stdin all of them take a token at once and try it; one line of JSON tells how.

They are forked from one that has imported everything, which is what makes them quick. Arguments: auth.json, server, how many.
"""

import json
import multiprocessing
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

import anyio
import httpx2

from hermes.models.auth.credentials import Pool
from hermes.models.auth.resolver import PooledKeys, SecretResolver
from hermes.store.auth import AuthFile


async def child(line: Connection, path: str, base: str) -> None:
    keep = AuthFile(Path(path))
    async with httpx2.AsyncClient(trust_env=False) as http:
        resolver = SecretResolver(http=http, keep=keep, environ={}, now=time.time)
        keys = PooledKeys(
            pool=Pool(provider="p", keep=keep, uniform=lambda low, _high: low), resolver=resolver
        )
        while line.recv():
            token = await keys.take()
            answer = await http.get(f"{base}/models", headers={"authorization": f"Bearer {token}"})
            line.send([token, answer.status_code])


def run(line: Connection, path: str, base: str) -> None:
    anyio.run(child, line, path, base)


def main(path: str, base: str, count: int) -> None:
    fork = multiprocessing.get_context("fork")
    lines = [fork.Pipe() for _ in range(count)]
    children = [fork.Process(target=run, args=(far, path, base)) for _, far in lines]
    for one in children:
        one.start()
    for word in sys.stdin:
        for near, _ in lines:
            near.send(word == "go\n")
        if word != "go\n":
            break
        sys.stdout.write(json.dumps([near.recv() for near, _ in lines]) + "\n")
        sys.stdout.flush()
    for one in children:
        one.join()


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
