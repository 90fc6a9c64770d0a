"""Prints each function of the stacks in a file of clew's with its trust."""

import json
import sys

with open(sys.argv[1]) as file:
    for stack in json.load(file)["stacks"]:
        for frame in stack["frames"]:
            print(frame["trust"], frame.get("function", frame["pc"]))
        print(stack["stop"] + ":", stack.get("reason", ""))
