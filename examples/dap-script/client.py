"""A DAP client in 60 lines: launches a program by clew dap --stdio, stops in froth, prints the stack."""

import json
import subprocess
import sys


class Client:
    def __init__(self):
        self.server = subprocess.Popen(["clew", "dap", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.seq = 0
        self.events = []

    def send(self, command, arguments):
        self.seq += 1
        body = json.dumps({"seq": self.seq, "type": "request", "command": command, "arguments": arguments}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.server.stdin.flush()
        return self.seq

    def read(self):
        length = 0
        while (line := self.server.stdout.readline().strip()) != b"":
            name, value = line.split(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.server.stdout.read(length))

    def request(self, command, arguments=None):
        return self.answer(self.send(command, arguments or {}))

    def answer(self, seq):
        while True:
            message = self.read()
            if message["type"] == "event":
                self.events.append(message)
            elif message.get("request_seq") == seq:
                if not message["success"]:
                    sys.exit(f"{message['command']}: {message['body']['error']['format']}")
                return message.get("body", {})

    def event(self, name):
        while True:
            for event in self.events:
                if event["event"] == name:
                    self.events.remove(event)
                    return event.get("body", {})
            message = self.read()
            if message["type"] == "event":
                self.events.append(message)


client = Client()
capabilities = client.request("initialize", {"adapterID": "clew", "linesStartAt1": True, "columnsStartAt1": True})
print("clew:", capabilities["supportsClew"], "its version is known:", capabilities["clewVersion"] != "")
launch = client.send("launch", {"mode": "exec", "program": sys.argv[1]})
client.event("initialized")
client.request("setFunctionBreakpoints", {"breakpoints": [{"name": "main.refill"}]})
client.request("configurationDone")
thread = client.event("stopped")["threadId"]
for frame in client.request("clew/stack", {"threadId": thread})["frames"]:
    print(frame["trust"], frame["strategy"], frame.get("function", frame["pc"]))
client.request("disconnect", {"terminateDebuggee": True})
