"""Made by tools/proto.py from iop/link.proto. Change that file instead."""
# pyright: reportUnusedImport=false
# What the file imports must be in the pool before it.

from fleetgate.schemas.iop import runtime_pb2 as _runtime
from fleetgate.schemas.loading import load
from google.protobuf import descriptor_pool

DESCRIPTOR = load(
    descriptor_pool.Default(),
    globals(),
    b'\n\x0eiop/link.proto\x12\x03iop\x1a\x11iop/runtime.proto"\x88\x02\n\x0bNodeMessage\x12(\n\x08regi'
    b'ster\x18\x01 \x01(\x0b2\x14.iop.RegisterRequestH\x00\x12#\n\theartbeat\x18\x02 \x01(\x0b2\x0e.iop.Hear'
    b'tbeatH\x00\x12"\n\trun_event\x18\x03 \x01(\x0b2\r.iop.RunEventH\x00\x124\n\x10command_response\x18'
    b'\x04 \x01(\x0b2\x18.iop.NodeCommandResponseH\x00\x12(\n\nnode_event\x18\x05 \x01(\x0b2\x12.iop.Edge'
    b'NodeEventH\x00\x12\x1b\n\x05error\x18\x06 \x01(\x0b2\n.iop.ErrorH\x00B\t\n\x07payload"\xa3\x02\n\x0bEdgeMess'
    b'age\x12+\n\nregistered\x18\x01 \x01(\x0b2\x15.iop.RegisterResponseH\x00\x12#\n\theartbeat\x18\x02 '
    b'\x01(\x0b2\x0e.iop.HeartbeatH\x00\x12\x1e\n\x03run\x18\x03 \x01(\x0b2\x0f.iop.RunRequestH\x00\x12$\n\x06cancel\x18'
    b'\x04 \x01(\x0b2\x12.iop.CancelRequestH\x00\x12*\n\x07command\x18\x05 \x01(\x0b2\x17.iop.NodeCommandRe'
    b'questH\x00\x12(\n\nnode_event\x18\x06 \x01(\x0b2\x12.iop.EdgeNodeEventH\x00\x12\x1b\n\x05error\x18\x07 \x01(\x0b'
    b'2\n.iop.ErrorH\x00B\t\n\x07payload"7\n\rAttachRequest\x12\x0e\n\x06run_id\x18\x01 \x01(\t\x12\x16\n\x0eaf'
    b'ter_sequence\x18\x02 \x01(\x04"=\n\x0eCancelResponse\x12\x10\n\x08accepted\x18\x01 \x01(\x08\x12\x19\n\x05error\x18'
    b'\x02 \x01(\x0b2\n.iop.Error",\n\x11WatchNodesRequest\x12\x17\n\x0finclude_current\x18\x01 \x01(\x082'
    b'=\n\x08NodeLink\x121\n\x07Connect\x12\x10.iop.NodeMessage\x1a\x10.iop.EdgeMessage(\x010\x012\x92'
    b"\x02\n\x0bEdgeControl\x12'\n\x03Run\x12\x0f.iop.RunRequest\x1a\r.iop.RunEvent0\x01\x12-\n\x06Attac"
    b'h\x12\x12.iop.AttachRequest\x1a\r.iop.RunEvent0\x01\x121\n\x06Cancel\x12\x12.iop.CancelReq'
    b'uest\x1a\x13.iop.CancelResponse\x12<\n\x07Command\x12\x17.iop.NodeCommandRequest\x1a\x18.'
    b'iop.NodeCommandResponse\x12:\n\nWatchNodes\x12\x16.iop.WatchNodesRequest\x1a\x12.'
    b'iop.EdgeNodeEvent0\x01b\x06proto3'
)
