"""Says which goroutines have the same stack in two files of clew's, and where in their own code."""

import json
import sys


def stacks(path):
    with open(path) as file:
        return {stack.get("goroutine"): stack["frames"] for stack in json.load(file)["stacks"]}


before, after = stacks(sys.argv[1]), stacks(sys.argv[2])
for goroutine, frames in after.items():
    own = [f["function"] for f in frames if f.get("function", "").startswith("main.")]
    if own and [f["pc"] for f in frames] == [f["pc"] for f in before.get(goroutine, [])]:
        print("goroutine", goroutine, "stands in", own[0])
