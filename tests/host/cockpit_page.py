# SPDX-License-Identifier: Apache-2.0
"""The page of packaging/cockpit in a real cockpit-ws, shown by a headless Chromium."""
import json
import os
import shutil
import socket
import subprocess
import time

import tap
from fake_host import write
from programs import PATIENCE, end, environment, start

try:
    from selenium import webdriver
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.chromium.remote_connection import ChromiumRemoteConnection
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = Keys = None

WS = "/usr/lib/cockpit/cockpit-ws"
CHROMIUM = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
            "--hide-scrollbars", "--force-color-profile=srgb", "--lang=en-US")
WIDTH, HEIGHT = 1280, 900


def missing():
    """Returns what this test lacks; empty if nothing."""
    names = [name for name in ("chromium", "chromedriver", "cockpit-bridge") if not shutil.which(name)]
    return ", ".join([*names, *([] if os.access(WS, os.X_OK) else ["cockpit-ws"]), *([] if webdriver else ["python3-selenium"])])


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def listens(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def wait_for(condition):
    """Returns whether the condition becomes true in time."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class Cockpit:
    """cockpit-ws on the loopback device, with a bridge on the host's bus and this tree's page."""

    def __init__(self, host, **options):
        data = os.path.join(host.scratch, "share")
        os.makedirs(os.path.join(data, "cockpit"), exist_ok=True)
        page = os.path.join(data, "cockpit/gpuhost")
        if not os.path.lexists(page):
            shutil.copytree(os.path.join(tap.TOP_SRCDIR, "packaging/cockpit"), page)
            subprocess.run(["chmod", "-R", "a+rX,u+w", data], check=True)
        # As sudo of cockpit-system, without a password and without more rights.
        write(os.path.join(data, "cockpit/access/manifest.json"), json.dumps({"bridges": [{"privileged": True, "spawn": ["cockpit-bridge", "--privileged"]}]}))
        port = free_port()
        # The bridge would start a bus of its own and an ssh-agent, which outlive it.
        variables = {"XDG_DATA_HOME": data, "HOME": host.scratch, "LC_ALL": "C.UTF-8", "DBUS_SESSION_BUS_ADDRESS": host.address, "SSH_AUTH_SOCK": "/nonexistent"}
        self.process = start([WS, "--address=127.0.0.1", f"--port={port}", "--local-session=cockpit-bridge"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=host.environment | variables, **options)
        self.page = f"http://127.0.0.1:{port}/cockpit/@localhost/gpuhost/index.html"
        wait_for(lambda: listens(port))

    def close(self):
        end(self.process)


class Browser:
    def __init__(self, scratch):
        port = free_port()
        self.server = start(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            env=environment(HOME=scratch, TMPDIR=scratch, LC_ALL="C.UTF-8"))
        options = webdriver.ChromeOptions()
        for word in (*CHROMIUM, f"--user-data-dir={scratch}/chromium", f"--window-size={WIDTH},{HEIGHT}"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        connection = ChromiumRemoteConnection(f"http://127.0.0.1:{port}", vendor_prefix="goog", browser_name="chrome")
        wait_for(lambda: listens(port))
        self.driver = webdriver.Remote(connection, options=options)
        self.driver.set_script_timeout(PATIENCE)

    def close(self):
        self.driver.quit()
        end(self.server)

    def open(self, address):
        self.driver.get(address)

    def resize(self, width, height=HEIGHT):
        """Sets the size of the page, which may be less than the least size of a window."""
        self.driver.execute("executeCdpCommand", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}})

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def call(self, module, function, *arguments):
        """Calls a function of one of the page's modules."""
        return self.driver.execute_async_script("""
            const [module, name, values, done] = arguments;
            import(new URL(module, document.baseURI).href).then((all) => done(all[name](...values)), (error) => done(String(error)));
            """, module, function, arguments)

    def text(self, css="body"):
        """Returns the visible text of the first such element; empty without one."""
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", css)

    def shows(self, css, *wanted, without=()):
        """Waits until an element shows all of these texts."""
        def shown():
            text = self.text(css)
            return all(one in text for one in wanted) and not any(one in text for one in without)
        return wait_for(shown)

    def click(self, css):
        """Clicks an enabled element as soon as it exists, again if the page has just made it anew."""
        def clicked():
            if not self.run("return document.querySelector(arguments[0])?.disabled === false", css):
                return False
            try:
                self.driver.find_element(By.CSS_SELECTOR, css).click()
                return True
            except StaleElementReferenceException:
                return False
        if not wait_for(clicked):
            raise TimeoutError(f"{css} can't be clicked:\n{self.text()}")

    def press(self, key):
        self.driver.switch_to.active_element.send_keys(key)

    def choose(self, css, value):
        wait_for(lambda: self.run("return document.querySelector(arguments[0])?.disabled === false", css))
        self.run("const [css, value] = arguments; const one = document.querySelector(css); one.value = value;"
                 "one.dispatchEvent(new Event('change'))", css, value)

    def errors(self):
        """Returns the errors that the console has shown since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def save(self, path):
        self.driver.save_screenshot(path)
