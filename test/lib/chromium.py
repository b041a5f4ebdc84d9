# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium for tests of pages, by its debugging pipe; standard library only.

    with Browser(width, height) as browser:
        browser.open('file:///tmp/page.html')
        browser.run('document.title')        the value of an expression
        browser.screenshot('page.png')
        browser.problems                     errors of the console, and requests to elsewhere
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

SECONDS = 120  # for an answer: more than any busy machine needs


def find():
    """The program; None: there is none."""
    return next(filter(None, map(shutil.which, ('chromium', 'chromium-browser', 'google-chrome'))), None)


class Browser:
    def __init__(self, width, height):
        self.size = width, height
        self.problems = []
        self.last = 0
        self.buffer = b''
        self.loaded = False

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(dir=os.environ.get('MICA_TMP'))
        # The browser reads commands from descriptor 3 and writes answers to 4.
        commands, self.write_fd = os.pipe()
        self.read_fd, answers = os.pipe()

        def place():
            kept = os.dup(commands), os.dup(answers)
            os.dup2(kept[0], 3)
            os.dup2(kept[1], 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        environment = dict(os.environ, HOME=self.profile.name)
        self.process = subprocess.Popen(
            [find(), '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
             '--remote-debugging-pipe', '--no-first-run', '--disable-extensions',
             '--disable-background-networking', '--hide-scrollbars',
             f'--user-data-dir={self.profile.name}'],
            env=environment, preexec_fn=place, close_fds=False, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        target = self.call('Target.createTarget', {'url': 'about:blank'}, session=None)['targetId']
        self.session = self.call('Target.attachToTarget', {'targetId': target, 'flatten': True},
                                 session=None)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')
        self.resize(*self.size)
        return self

    def __exit__(self, *_):
        try:
            self.call('Browser.close', session=None)
        except (OSError, RuntimeError):
            self.process.kill()
        self.process.wait()
        os.close(self.write_fd)
        os.close(self.read_fd)
        for _ in range(50):  # its children may still write
            try:
                self.profile.cleanup()
                break
            except OSError:
                time.sleep(0.1)

    # -- the pipe: JSON, each message ended by a zero byte --

    def receive(self, deadline):
        while b'\0' not in self.buffer:
            ready, _, _ = select.select([self.read_fd], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.read_fd, 1 << 20) if ready else b''
            if not data:
                raise RuntimeError('the browser does not answer')
            self.buffer += data
        message, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, parameters=None, session=''):
        self.last += 1
        message = {'id': self.last, 'method': method, 'params': parameters or {}}
        if session is not None:
            message['sessionId'] = session or self.session
        os.write(self.write_fd, json.dumps(message).encode() + b'\0')
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self.receive(deadline)
            if answer.get('id') != self.last:
                self.note(answer)
            elif 'error' in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer['result']

    def note(self, event):
        method, data = event.get('method'), event.get('params', {})
        if method == 'Page.loadEventFired':
            self.loaded = True
        elif method == 'Runtime.exceptionThrown':
            details = data['exceptionDetails']
            self.problems.append('exception: ' + details.get('exception', {}).get('description', details['text']))
        elif method == 'Runtime.consoleAPICalled' and data['type'] in ('error', 'warning', 'assert'):
            self.problems.append('console: ' + str(data['args']))
        elif method == 'Log.entryAdded' and data['entry']['level'] in ('error', 'warning'):
            self.problems.append('log: ' + data['entry']['text'])
        elif method == 'Network.requestWillBeSent':
            url = data['request']['url']
            if not url.startswith(('file:', 'data:', 'about:')):
                self.problems.append('request: ' + url)

    # -- what tests do --

    def resize(self, width, height):
        self.call('Emulation.setDeviceMetricsOverride',
                  {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False})

    def prefer(self, scheme):
        """'light' or 'dark': what the system has."""
        self.call('Emulation.setEmulatedMedia',
                  {'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})
        self.settle()

    def open(self, url):
        self.loaded = False
        self.call('Page.navigate', {'url': url})
        deadline = time.monotonic() + SECONDS
        while not self.loaded:
            self.note(self.receive(deadline))
        self.settle()

    def settle(self):
        """Returns when the page has drawn twice."""
        self.run('new Promise(f => requestAnimationFrame(() => requestAnimationFrame(() => f(1))))')

    def run(self, expression):
        result = self.call('Runtime.evaluate',
                           {'expression': expression, 'returnByValue': True, 'awaitPromise': True})
        if 'exceptionDetails' in result:
            raise RuntimeError(expression + ': ' + str(result['exceptionDetails']))
        return result['result'].get('value')

    def key(self, key, code=0):
        for kind in ('keyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', {'type': kind, 'key': key, 'text': key if len(key) == 1 and kind == 'keyDown' else '',
                                                 'windowsVirtualKeyCode': code})
        self.settle()

    def wheel(self, x, y, delta):
        self.call('Input.dispatchMouseEvent', {'type': 'mouseWheel', 'x': x, 'y': y, 'deltaX': 0, 'deltaY': delta})
        self.settle()

    def point(self, x, y):
        self.call('Input.dispatchMouseEvent', {'type': 'mouseMoved', 'x': x, 'y': y})
        self.settle()

    def screenshot(self, path):
        """All of the page, not only what the window shows."""
        height = self.run('document.documentElement.scrollHeight')
        self.resize(self.size[0], height)
        self.settle()
        image = self.call('Page.captureScreenshot', {'format': 'png'})['data']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(image))
        self.resize(*self.size)
        self.settle()
