"""Drives chromium-headless-shell by its remote debugging protocol, with Python's standard library alone."""

import base64
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

NAME = "chromium-headless-shell"


class WebSocket:
    """The client's side of RFC 6455: whole text messages."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=120)
        self.pending = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.pending:
            self.pending += self.read()
        head, self.pending = self.pending.split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 101"), head

    def read(self):
        got = self.socket.recv(1 << 16)
        assert got, "the browser has closed the connection"
        return got

    def take(self, count):
        while len(self.pending) < count:
            self.pending += self.read()
        got, self.pending = self.pending[:count], self.pending[count:]
        return got

    def send(self, text, opcode=1):
        data, mask = text.encode() if isinstance(text, str) else text, os.urandom(4)
        size = len(data)
        head = struct.pack("!BB", 0x80 | opcode, 0x80 | size) if size < 126 else \
            struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size) if size < 65536 else struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
        self.socket.sendall(head + mask + bytes(byte ^ mask[i & 3] for i, byte in enumerate(data)))

    def receive(self):
        message = b""
        while True:
            first, second = self.take(2)
            size = second & 127
            if size == 126:
                size = struct.unpack("!H", self.take(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self.take(8))[0]
            data = self.take(size)
            if first & 15 == 9:
                self.send(data, 10)
            elif first & 15 == 8:
                raise AssertionError("the browser has closed the connection")
            elif first & 15 in (0, 1):
                message += data
                if first & 0x80:
                    return message.decode()


class Browser:
    """A browser with a profile of its own; `with Browser() as browser: page = browser.page(url, 1280, 800)`."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        # the software renderer of WebGL is allowed, as machines of tests have no graphics card
        self.process = subprocess.Popen(
            [shutil.which(NAME), "--no-sandbox", "--remote-debugging-port=0", "--enable-unsafe-swiftshader", "--hide-scrollbars",
             f"--user-data-dir={self.folder.name}", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        path, end = os.path.join(self.folder.name, "DevToolsActivePort"), time.monotonic() + 60
        while not os.path.exists(path) or not open(path, encoding="ascii").read().count("\n"):
            assert self.process.poll() is None and time.monotonic() < end, "the browser did not start"
            time.sleep(0.05)
        with open(path, encoding="ascii") as file:
            self.port = int(file.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGTERM)  # what is started may be a script that starts the browser
        self.process.wait()
        try:
            self.folder.cleanup()
        except OSError:
            pass  # a child of the browser still writes; the folder is temporary anyway

    def page(self, url, width, height, scheme="light"):
        target = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(target, timeout=60) as answer:
            page = Page(json.load(answer)["webSocketDebuggerUrl"])
        page.call("Runtime.enable")
        page.call("Log.enable")
        page.call("Page.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.call("Page.navigate", url=url)
        return page


class Page:
    def __init__(self, url):
        self.socket = WebSocket(url)
        self.number = 0
        self.errors = []

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.receive())
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer}"
                return answer["result"]
            self.note(answer)

    def note(self, event):
        """Collects what a browser would show in its console as errors or warnings."""
        values = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = values["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif event.get("method") == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(value.get("value", value.get("description"))) for value in values["args"]))
        elif event.get("method") == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            entry = values["entry"]
            # Chromium remarks that reading pixels of its software renderer is slow
            if "GPU stall due to ReadPixels" not in entry["text"]:
                self.errors.append(f'{entry["text"]} ({entry.get("url", "")})')

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, f'{expression}: {result["exceptionDetails"]}'
        return result["result"].get("value")

    def wait(self, expression, seconds=120):
        """Waits until the expression is true."""
        end = time.monotonic() + seconds
        while True:
            if self.evaluate(f"Boolean({expression})"):
                return
            assert time.monotonic() < end, f"not true after {seconds} s: {expression}; errors: {self.errors}"
            time.sleep(0.05)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **{"button": "left", "buttons": 1, "clickCount": 1, **more})

    def click(self, x, y):
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y, buttons=0)

    def drag(self, x0, y0, x1, y1, steps=8):
        self.mouse("mousePressed", x0, y0)
        for i in range(1, steps + 1):
            self.mouse("mouseMoved", x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps)
            time.sleep(0.02)
        self.mouse("mouseReleased", x1, y1, buttons=0)

    def screenshot(self, path, quality=85):
        """Writes a PNG or JPEG file, by the name's ending."""
        kind = {"format": "png"} if path.endswith(".png") else {"format": "jpeg", "quality": quality}
        data = self.call("Page.captureScreenshot", **kind)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
