"""Control a headless Chromium through its debugging pipe, with only the standard library.

    with Browser() as browser:
        page = browser.open("file:///...")
        page.run("document.title")
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
import unittest

SECONDS = 300  # long enough for a slow machine: a time-out means a hang
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--disable-extensions", "--hide-scrollbars",
         "--remote-debugging-pipe"]


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    raise unittest.SkipTest("no chromium")


class Gone(Exception):
    """The browser ended or does not respond."""


class Pipe:
    """NUL-terminated messages in both directions."""

    def __init__(self, to_browser, from_browser):
        self.to, self.source = to_browser, from_browser
        self.rest = b""

    def send(self, message):
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]

    def receive(self, until):
        while b"\0" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.source], [], [], left)[0]:
                raise Gone("no answer")
            got = os.read(self.source, 1 << 20)
            if not got:
                raise Gone("the browser ended")
            self.rest += got
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def close(self):
        os.close(self.to)
        os.close(self.source)


class Browser:
    def __init__(self, width=1280, height=800, flags=()):
        self.program, self.size, self.flags = find_chromium(), (width, height), flags
        self.process = self.folder = self.pipe = None
        self.last_id, self.events = 0, []

    def __enter__(self):
        try:
            self.start()
        except (Gone, OSError):  # no shared memory, or system calls are blocked
            self.stop()
            raise unittest.SkipTest("chromium does not start here") from None
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        self.folder = tempfile.TemporaryDirectory(prefix="fathom-web-", ignore_cleanup_errors=True)
        read3, write3 = os.pipe()
        read4, write4 = os.pipe()

        def wire():  # the browser reads from 3 and writes to 4
            read, write = os.dup(read3), os.dup(write4)
            os.dup2(read, 3)
            os.dup2(write, 4)

        command = [self.program, *FLAGS, *self.flags, f"--user-data-dir={self.folder.name}",
                   f"--window-size={self.size[0]},{self.size[1]}", "about:blank"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, preexec_fn=wire,
                                        close_fds=False, start_new_session=True)
        os.close(read3)
        os.close(write4)
        self.pipe = Pipe(write3, read4)
        self.call("Browser.getVersion")

    def stop(self):
        if self.process:
            try:
                self.call("Browser.close", seconds=10)
                self.process.wait(10)
            except (Gone, OSError, subprocess.TimeoutExpired):
                pass
            if self.process.poll() is None:
                os.killpg(self.process.pid, 9)
            self.process.wait()
        if self.pipe:
            self.pipe.close()
        if self.folder:
            self.folder.cleanup()
        self.process = self.pipe = self.folder = None

    def call(self, method, session=None, seconds=SECONDS, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self.pipe.send(message)
        until = time.monotonic() + seconds
        while True:
            answer = self.pipe.receive(until)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def open(self, url, dark=False):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Runtime", "Page", "Log"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=self.size[0], height=self.size[1],
                  deviceScaleFactor=1, mobile=False)
        page.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])
        page.call("Page.navigate", url=url)
        return page


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def call(self, method, **params):
        return self.browser.call(method, session=self.session, **params)

    def run(self, script):
        """The value of a JavaScript expression; promises are awaited."""
        got = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in got:
            raise AssertionError(f"{script}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def until(self, script, seconds=SECONDS):
        """Wait until the expression is true."""
        end = time.monotonic() + seconds
        while True:
            try:
                if self.run(script):
                    return
            except AssertionError:  # the page is being replaced
                if time.monotonic() > end:
                    raise
            if time.monotonic() > end:
                raise AssertionError(f"never true: {script}")
            time.sleep(0.05)

    def key(self, key, text=None):
        text = key if text is None and len(key) == 1 else text or ""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **more)

    def mouse(self, x, y, click=False):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        if click:
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                          clickCount=1, buttons=1)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))

    def complaints(self):
        """Errors and warnings of the page."""
        self.run("1")  # earlier events arrive before its result
        out = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                out.append(params["exceptionDetails"].get("exception", {}).get("description", "?"))
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                out.append(str(params["args"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                out.append(params["entry"]["text"])
        return out
