# SPDX-License-Identifier: MIT
"""Headless Chromium for the tests of web/: a local server for the built page, and chromedriver in plain WebDriver.

    with Browser(webgpu=True) as browser:
        print(browser.run("return 1 + 1"))

Where something is missing, `Browser` says so and ends the test as skipped (status 77).
"""
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request

BUILD = os.environ.get("TSR_TEST_BUILD_DIR", "build/wasm")
PAGES = os.path.join(BUILD, "web")
SKIPPED = 77


def skip(reason):
    print("SKIPPED web.%s: %s" % (os.path.basename(sys.argv[0]).rsplit("_test", 1)[0], reason))
    sys.exit(SKIPPED)


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm", "": "text/plain"}

    def log_message(self, *args):
        pass


class Browser:
    """A browser with an empty page of the local server open."""

    def __init__(self, webgpu=True, flags=()):
        self.flags = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", *flags]
        if webgpu:
            self.flags.append("--enable-unsafe-webgpu")
        self.chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        self.chromedriver = shutil.which("chromedriver")
        if not self.chromium or not self.chromedriver:
            skip("needs chromium and chromedriver (Debian: chromium chromium-driver)")
        self.session = None

    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Handler, directory=PAGES))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.page = "http://localhost:%d/" % self.server.server_address[1]
        self.driver = subprocess.Popen([self.chromedriver, "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
        try:
            self.start_session()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused):
        if self.session:
            self.request("DELETE", "/session/" + self.session)
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()
        self.server.shutdown()
        self.server.server_close()

    def start_session(self):
        port = None
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                port = found.group(1)
                break
        if port is None:
            sys.exit("chromedriver did not start")
        threading.Thread(target=self.driver.stdout.read, daemon=True).start()
        self.base = "http://127.0.0.1:" + port
        options = {"args": self.flags, "binary": self.chromium}
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
        self.session = self.request("POST", "/session", wanted)["sessionId"]
        self.command("timeouts", {"script": 3_600_000, "pageLoad": 60_000})
        self.open("empty.html")

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=3620) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise RuntimeError("%s: %s" % (value["error"], value["message"].split("\n")[0])) from None

    def command(self, name, body):
        return self.request("POST", "/session/%s/%s" % (self.session, name), body)

    def open(self, path):
        self.command("url", {"url": self.page + path})

    def run(self, body, *args):
        """Runs the body of an async function in the page, with `args` in `args`; gives what it returns."""
        script = """
            const args = [...arguments], done = args.pop();
            (async () => { %s })().then(
                value => done({value: value ?? null}),
                error => done({error: String(error), status: error?.status ?? null, stack: String(error?.stack)}));
        """ % body
        outcome = self.command("execute/async", {"script": script, "args": list(args)})
        if "error" in outcome:
            raise RuntimeError("%s\n%s" % (outcome["error"], outcome["stack"]))
        return outcome["value"]

    def screenshot(self):
        return self.request("GET", "/session/%s/screenshot" % self.session)


def run_claims(*claims, **options):
    """Calls each claim with a fresh page; the test fails if any does not give True."""
    failed = []
    with Browser(**options) as browser:
        for claim in claims:
            browser.open("empty.html")
            outcome = claim(browser)
            print("%-6s %s%s" % ("ok" if outcome is True else "FAILED", claim.__name__.replace("_", " "),
                                 "" if outcome is True else ": %r" % (outcome,)), flush=True)
            if outcome is not True:
                failed.append(claim)
    sys.exit(len(failed) > 0)


def check(browser, *args, **options):
    """Runs `tessera check` in the page, as JSON: the exit code and what it says of the first device."""
    code, lines, messages = browser.run("""
        const {runProgram} = await import('/program.js'), lines = [], messages = [];
        const sinks = {stdout: line => lines.push(line), stderr: line => messages.push(line)};
        return [await runProgram(['check', '--json', ...args[0]], {...sinks, ...args[1]}), lines, messages];
    """, list(args), options)
    try:
        return code, json.loads("\n".join(lines))["devices"][0]
    except (ValueError, IndexError, KeyError):
        sys.exit("tessera check ended with %s and said:\n%s" % (code, "\n".join(lines[-20:] + messages[-20:])))


def all_cases_pass(browser, *args, **options):
    """Claims that `tessera check` runs to its end and every case passes."""
    code, device = check(browser, *args, **options)
    print("%s (%s): %d of %d cases passed, %d in known gaps, %.1f s" % (
        device["name"], device["backend"], device["passed"], device["cases"], device["gaps"], device["seconds"]))
    for failure in device["failures"][:20]:
        print("  %s: %s" % (failure["case"], failure["message"]))
    return code == 0 and device["cases"] > 100 and device["failed"] == 0
