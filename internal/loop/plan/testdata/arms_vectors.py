#!/usr/bin/env python3
"""Writes arms_vectors.txt: arms computed with Python's own hmac and ipaddress.

It shares no code with arms.go; the Go test holds that file against arms.go.
Run:   python3 arms_vectors.py > arms_vectors.txt
Check: python3 arms_vectors.py | cmp - arms_vectors.txt
"""
import hashlib
import hmac
import ipaddress
import struct

SALTS = [bytes(range(16)), b"another experiment's thirty-two b", bytes(64)]
PREFIXES = ["198.51.100.0/24", "203.0.113.0/24", "1.0.0.0/24", "223.255.255.0/24",
            "2001:db8:0:ab00::/56", "2001:db8::/56", "2a00:1450:4001:ff00::/56", "all"]
# The block of 2026-11-20T12:00:00Z with blocks of 1800 s, the epoch, before it, and far away.
BLOCKS = [*range(997320, 997328), 0, 1, -1, -8, -9, 2**40]
GROUPS = [2, 8, 3]


def network(prefix):
    if prefix == "all":
        return bytes(17)
    net = ipaddress.ip_network(prefix)
    packed = net.network_address.packed
    if net.version == 4:
        packed = bytes(10) + b"\xff\xff" + packed
    return bytes([net.version]) + packed


def draw(salt, message):
    return int.from_bytes(hmac.new(salt, message, hashlib.sha256).digest()[:8], "big")


print("# domain salt(hex) prefix ... : docs/format/plan.md, section Arms. Written by arms_vectors.py.")
print("# block salt prefix group-length block -> message(hex) arm")
print("# pop salt group-promoted group-length block -> arm of every prefix, drawn by PoP")
print("# holdout|aa salt prefix -> message(hex) draw mod 1000")
for salt in SALTS:
    for prefix in PREFIXES:
        for domain in ("holdout", "aa"):
            message = domain.encode() + network(prefix)
            print(domain, salt.hex(), prefix, message.hex(), draw(salt, message) % 1000)
    for prefix in PREFIXES[:: 1 if salt is SALTS[0] else 3]:
        for length in GROUPS:
            for block in BLOCKS:
                group, index = divmod(block, length)
                message = b"block" + network(prefix) + struct.pack(">q", group)
                arm = "C" if draw(salt, message) % length == index else "T"
                print("block", salt.hex(), prefix, length, block, message.hex(), arm)


def control(salt, length, block):
    group, index = divmod(block, length)
    return draw(salt, b"block" + network("all") + struct.pack(">q", group)) % length == index


for salt in SALTS:
    for of_all in (16, 4):
        for length in (2, 3, 16, 24):
            for block in BLOCKS:
                c = control(salt, of_all, block) or length < of_all and control(salt, length, block)
                print("pop", salt.hex(), of_all, length, block, "C" if c else "T")
