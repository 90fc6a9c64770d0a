#!/usr/bin/python3
"""An unwinder plugin for clew: it follows frame pointers on amd64 and believes each.

docs/plugins.md describes the protocol. The one argument is the folder with unwinder_pb2.py,
which protoc makes of unwinder.proto.
"""

import os
import shutil
import signal
import struct
import sys
import tempfile
import threading
from concurrent import futures

if os.environ.get("CLEW_PLUGIN") != "unwinder":
    sys.exit("This is a plugin for clew: name it in clew.json.")

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])

import grpc
import unwinder_pb2 as pb

RBP, RSP, RIP = 6, 7, 16  # DWARF's numbers
RECORD = 16  # the caller's frame pointer, then the return address
FLAGS = 0b111 | pb.TRUST_FRAME_POINTER << 4  # PC, SP and FP of the caller are known


def ranges(deltas):
    """Decodes the message Ranges."""
    at = 0
    for distance, size in zip(deltas[::2], deltas[1::2]):
        yield at + distance, at + distance + size
        at += distance + size


class Unwinder:
    def __init__(self):
        self.better = []  # where better strategies take over

    def describe(self, request, context):
        return pb.DescribeResponse(
            name="framechain-py", version="1.0", arches=[pb.ARCH_AMD64], trust=pb.TRUST_FRAME_POINTER, capabilities=["anywhere"])

    def update(self, chunks, context):
        """One report for each new image: this strategy covers all code."""
        return pb.UpdateResponse(reports=[
            pb.ImageReport(id=c.image.id, coverage=c.image.executable) for c in chunks if c.WhichOneof("piece") == "image"])

    def yields(self, chunks, context):
        self.better = list(ranges([d for c in chunks for d in c.ranges.deltas]))
        return pb.YieldResponse()

    def walk(self, batch, context):
        answer = pb.WalkAnswer(strings=["cfa=rbp+16; ra=[cfa-8]; rbp=[cfa-16]"])
        flags = bytearray()
        for request in batch.requests:
            self.walk_one(request, answer, flags)
        answer.flags = bytes(flags)
        return answer

    def walk_one(self, request, answer, flags):
        registers = dict(zip(request.registers.number, request.registers.value))
        end = answer.ends.add()
        if request.arch != pb.ARCH_AMD64 or RBP not in registers or RSP not in registers:
            end.stop, end.reason = pb.WalkEnd.STOP_NO_RULE, "frame or stack pointer is not known"
            return
        fp, sp = registers[RBP], registers[RSP]
        while end.steps < request.max_frames:
            if fp == 0:
                end.stop, end.reason = pb.WalkEnd.STOP_END, "the frame pointer is 0"
                return
            if fp < sp or fp % 8 != 0:
                end.stop, end.reason = pb.WalkEnd.STOP_BROKEN, "the frame pointer points to no frame record on this stack"
                return
            record = next((w.data[fp - w.addr:fp - w.addr + RECORD] for w in request.stack if w.addr <= fp <= w.addr + len(w.data) - RECORD), None)
            if record is None:
                end.stop, end.need_start, end.need_end = pb.WalkEnd.STOP_MEMORY, fp, fp + RECORD
                return
            caller, ra = struct.unpack("<QQ", record)
            cfa = fp + RECORD
            if ra == 0:
                end.stop, end.reason, end.cfa, end.pc = pb.WalkEnd.STOP_BROKEN, "the return address is 0", cfa, ra
                return
            answer.cfa.append(cfa)
            answer.pc.append(ra)
            answer.sp.append(cfa)
            answer.fp.append(caller)
            answer.rule.append(1)
            flags.append(FLAGS)
            end.steps += 1
            if any(low <= ra - 1 < high for low, high in self.better):
                end.stop = pb.WalkEnd.STOP_YIELD
                return
            fp, sp = caller, cfa
        end.stop = pb.WalkEnd.STOP_LIMIT


def service(name, methods):
    """Handlers for a service: name, request, streams, function."""
    handlers = {}
    for method, request, streams, function in methods:
        make = grpc.stream_unary_rpc_method_handler if streams else grpc.unary_unary_rpc_method_handler
        handlers[method] = make(function, request_deserializer=request, response_serializer=lambda m: m if isinstance(m, bytes) else m.SerializeToString())
    return grpc.method_handlers_generic_handler(name, handlers)


def watch_lifeline(sockets):
    """Ends the process when clew has gone or wants it to end."""
    order = os.read(int(os.environ["CLEW_PLUGIN_LIFELINE"]), 1)
    shutil.rmtree(sockets if order else os.environ["CLEW_PLUGIN_SESSION"], ignore_errors=True)
    os._exit(0)


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sockets = os.environ["PLUGIN_UNIX_SOCKET_DIR"]
    unwinder = Unwinder()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4), options=[("grpc.max_receive_message_length", 8 << 20)])
    server.add_generic_rpc_handlers((
        service("clew.unwind.v1.Unwinder", [
            ("Describe", pb.DescribeRequest.FromString, False, unwinder.describe),
            ("Update", pb.UpdateChunk.FromString, True, unwinder.update),
            ("Yield", pb.YieldChunk.FromString, True, unwinder.yields),
            ("Walk", pb.WalkBatch.FromString, False, unwinder.walk),
        ]),
        # HealthCheckResponse{status: SERVING}, whatever is asked about.
        service("grpc.health.v1.Health", [("Check", bytes, False, lambda request, context: b"\x08\x01")]),
    ))
    path = tempfile.mktemp(dir=sockets, prefix="plugin-")
    server.add_insecure_port("unix:" + path)
    server.start()
    threading.Thread(target=watch_lifeline, args=(sockets,), daemon=True).start()
    print(f"1|1|unix|{path}|grpc", flush=True)
    server.wait_for_termination()


main()
