# Prints for every address of the file ADDRESSES (one a line) what GDB's tables say: the
# innermost place, then the functions, the innermost first.
import gdb, json, os

for line in open(os.environ["ADDRESSES"]):
    pc = int(line, 16)
    names = []
    block = gdb.block_for_pc(pc)
    while block is not None and not block.is_global and not block.is_static:
        if block.function is not None:
            names.append(block.function.linkage_name or block.function.name)
        block = block.superblock
    place = gdb.find_pc_line(pc)
    print(json.dumps({"file": place.symtab.filename if place.symtab else "", "line": place.line, "names": names}))
