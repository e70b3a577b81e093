"""A long thin wire: a TCP proxy that delays and throttles what passes, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
import time


class SlowLink:
    """Listen on `port` and pass on to `target`; slow once ``slow`` is set.

    Parameters
    ----------
    target : int
        Port on this machine.
    delay : float
        One way, in s.
    rate : float
        Bytes a second, each way, for all connections together.
    """

    def __init__(self, target: int, *, delay: float, rate: float) -> None:
        self.target, self.delay, self.rate = target, delay, rate
        self.slow = False
        self.down = 0  # bytes towards the browser
        self.free = [0.0, 0.0]  # when the wire is free again, each way
        self.tasks: list[asyncio.Task] = []
        self.up = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self) -> SlowLink:
        self.thread.start()
        self.up.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.end.set)
        self.thread.join(10)

    def run(self) -> None:
        asyncio.run(self.serve())

    async def serve(self) -> None:
        self.loop, self.end = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self.connect, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self.up.set()
        await self.end.wait()
        server.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.append(asyncio.current_task())
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        try:
            await asyncio.gather(self.carry(reader, back, 0), self.carry(there, writer, 1))
        except asyncio.CancelledError:
            pass
        finally:
            for end in (writer, back):
                end.transport.abort()
            await asyncio.sleep(0)  # they close in the next turn

    async def carry(self, source, sink, way: int) -> None:
        queue: asyncio.Queue = asyncio.Queue()
        deliver = asyncio.ensure_future(self.deliver(queue, sink))
        try:
            while data := await source.read(16384):
                now = time.monotonic()
                arrives = now
                if self.slow:
                    self.free[way] = max(self.free[way], now) + len(data) / self.rate
                    arrives = self.free[way] + self.delay
                self.down += way * len(data)
                queue.put_nowait((arrives, data))
        except (ConnectionError, OSError):
            pass
        except asyncio.CancelledError:
            deliver.cancel()
            raise
        queue.put_nowait((0.0, b""))
        await deliver

    async def deliver(self, queue: asyncio.Queue, sink: asyncio.StreamWriter) -> None:
        try:
            while True:
                arrives, data = await queue.get()
                if not data:
                    break
                await asyncio.sleep(max(0.0, arrives - time.monotonic()))
                sink.write(data)
                await sink.drain()
        except (ConnectionError, OSError):
            pass
        finally:
            sink.close()
