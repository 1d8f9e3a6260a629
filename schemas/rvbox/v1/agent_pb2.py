"""Made by tools/proto.py from rvbox/v1/agent.proto. Change that file instead."""
# pyright: reportUnusedImport=false
# What the file imports must be in the pool before it.

from fleetgate.schemas.loading import load
from fleetgate.schemas.rvbox.v1 import common_pb2 as _common
from fleetgate.schemas.rvbox.v1.pool import POOL

DESCRIPTOR = load(
    POOL,
    globals(),
    b'\n\x14rvbox/v1/agent.proto\x12\x08rvbox.v1\x1a\x1fgoogle/protobuf/timestamp.prot'
    b'o\x1a\x15rvbox/v1/common.proto"\xe8\x06\n\rAgentEnvelope\x12\x12\n\nsession_id\x18\x01 \x01(\t\x12\x1a'
    b'\n\x12session_generation\x18\x02 \x01(\x04\x12-\n\x0cclient_hello\x18\x03 \x01(\x0b2\x15.rvbox.v1.Clie'
    b'ntHelloH\x00\x121\n\x0eserver_welcome\x18\x04 \x01(\x0b2\x17.rvbox.v1.ServerWelcomeH\x00\x125\n\x10'
    b'command_dispatch\x18\x05 \x01(\x0b2\x19.rvbox.v1.CommandDispatchH\x00\x125\n\x10command_a'
    b'ccepted\x18\x06 \x01(\x0b2\x19.rvbox.v1.CommandAcceptedH\x00\x12/\n\rcommand_event\x18\x07 \x01('
    b"\x0b2\x16.rvbox.v1.CommandEventH\x00\x12'\n\tevent_ack\x18\x08 \x01(\x0b2\x12.rvbox.v1.EventA"
    b'ckH\x00\x12+\n\x0bstdin_write\x18\t \x01(\x0b2\x14.rvbox.v1.StdinWriteH\x00\x12+\n\x0bclose_stdin'
    b'\x18\n \x01(\x0b2\x14.rvbox.v1.CloseStdinH\x00\x121\n\x0esignal_command\x18\x0b \x01(\x0b2\x17.rvbox.v'
    b'1.SignalCommandH\x00\x12-\n\x0cscript_chunk\x18\x0c \x01(\x0b2\x15.rvbox.v1.ScriptChunkH\x00'
    b'\x12/\n\rscript_commit\x18\r \x01(\x0b2\x16.rvbox.v1.ScriptCommitH\x00\x123\n\x0fclient_capa'
    b'city\x18\x0e \x01(\x0b2\x18.rvbox.v1.ClientCapacityH\x00\x127\n\x11reconcile_request\x18\x0f \x01('
    b'\x0b2\x1a.rvbox.v1.ReconcileRequestH\x00\x129\n\x12reconcile_snapshot\x18\x10 \x01(\x0b2\x1b.rv'
    b'box.v1.ReconcileSnapshotH\x00\x12%\n\x05error\x18\x11 \x01(\x0b2\x14.rvbox.v1.AgentErrorH'
    b'\x00\x125\n\x10reconcile_result\x18\x12 \x01(\x0b2\x19.rvbox.v1.ReconcileResultH\x00B\t\n\x07payl'
    b'oad"\xf0\x02\n\x0bClientHello\x12\x11\n\tclient_id\x18\x01 \x01(\t\x123\n\x12supported_protocol\x18\x02 \x01'
    b'(\x0b2\x17.rvbox.v1.ProtocolRange\x12\x16\n\x0edaemon_version\x18\x03 \x01(\t\x12$\n\x08platform\x18'
    b'\x04 \x01(\x0e2\x12.rvbox.v1.Platform\x12\x14\n\x0carchitecture\x18\x05 \x01(\t\x12\x12\n\ndaemon_cwd\x18\x06 '
    b'\x01(\t\x12-\n\x10supported_shells\x18\x07 \x03(\x0e2\x13.rvbox.v1.ShellType\x12\x1a\n\x12client_ins'
    b'tance_id\x18\x08 \x01(\t\x12\x1c\n\x14max_running_commands\x18\t \x01(\r\x12\x1b\n\x13max_queued_comma'
    b'nds\x18\n \x01(\r\x12+\n\x07sent_at\x18\x0b \x01(\x0b2\x1a.google.protobuf.Timestamp"v\n\rServer'
    b'Welcome\x124\n\x11selected_protocol\x18\x01 \x01(\x0b2\x19.rvbox.v1.ProtocolVersion\x12/\n'
    b'\x0bserver_time\x18\x02 \x01(\x0b2\x1a.google.protobuf.Timestamp"\x92\x02\n\x0fCommandDispat'
    b'ch\x12\x12\n\nissue_uuid\x18\x01 \x01(\t\x12\x18\n\x10command_revision\x18\x02 \x01(\x04\x12!\n\x19target_sessi'
    b'on_generation\x18\x03 \x01(\x04\x12.\n\nissue_time\x18\x04 \x01(\x0b2\x1a.google.protobuf.Timest'
    b'amp\x12%\n\x04spec\x18\x05 \x01(\x0b2\x17.rvbox.v1.ExecutionSpec\x125\n\x11queue_expiry_time\x18'
    b'\x06 \x01(\x0b2\x1a.google.protobuf.Timestamp\x12 \n\x18immutable_request_sha256\x18\x07 '
    b'\x01(\x0c"|\n\x0fCommandAccepted\x12\x12\n\nissue_uuid\x18\x01 \x01(\t\x12\x18\n\x10command_revision\x18\x02'
    b' \x01(\x04\x12\x10\n\x08accepted\x18\x03 \x01(\x08\x12)\n\trejection\x18\x04 \x01(\x0b2\x16.rvbox.v1.ControlErro'
    b'r"9\n\x08EventAck\x12\x12\n\nissue_uuid\x18\x01 \x01(\t\x12\x19\n\x11through_event_seq\x18\x02 \x01(\x04"Y\n\n'
    b'StdinWrite\x12\x12\n\nissue_uuid\x18\x01 \x01(\t\x12\x11\n\twrite_seq\x18\x02 \x01(\x04\x12\x0c\n\x04data\x18\x03 \x01(\x0c\x12'
    b'\x16\n\x0eappend_newline\x18\x04 \x01(\x08"3\n\nCloseStdin\x12\x12\n\nissue_uuid\x18\x01 \x01(\t\x12\x11\n\twri'
    b'te_seq\x18\x02 \x01(\x04"c\n\rSignalCommand\x12\x12\n\nissue_uuid\x18\x01 \x01(\t\x12\x18\n\x10command_rev'
    b'ision\x18\x02 \x01(\x04\x12$\n\x06signal\x18\x03 \x01(\x0e2\x14.rvbox.v1.SignalKind"O\n\x0bScriptChunk'
    b'\x12\x12\n\nissue_uuid\x18\x01 \x01(\t\x12\x0e\n\x06offset\x18\x02 \x01(\x04\x12\x0c\n\x04data\x18\x03 \x01(\x0c\x12\x0e\n\x06sha256\x18\x04 \x01'
    b'(\x0c"F\n\x0cScriptCommit\x12\x12\n\nissue_uuid\x18\x01 \x01(\t\x12\x12\n\nsize_bytes\x18\x02 \x01(\x04\x12\x0e\n\x06sh'
    b'a256\x18\x03 \x01(\x0c"~\n\x0eClientCapacity\x12\x18\n\x10running_commands\x18\x01 \x01(\r\x12\x17\n\x0fqueued'
    b'_commands\x18\x02 \x01(\r\x12\x1c\n\x14max_running_commands\x18\x03 \x01(\r\x12\x1b\n\x13max_queued_comm'
    b'ands\x18\x04 \x01(\r">\n\x10ReconcileRequest\x12*\n\x07targets\x18\x01 \x03(\x0b2\x19.rvbox.v1.Recon'
    b'cileTarget"\x80\x01\n\x0fReconcileTarget\x12\x12\n\nissue_uuid\x18\x01 \x01(\t\x12\x1d\n\x15last_serve'
    b'r_event_seq\x18\x02 \x01(\x04\x12\x18\n\x10command_revision\x18\x03 \x01(\x04\x12 \n\x18immutable_request'
    b'_sha256\x18\x04 \x01(\x0c"O\n\x11ReconcileSnapshot\x12:\n\x11retained_commands\x18\x01 \x03(\x0b2\x1f.'
    b'rvbox.v1.ReconcileCommandState"\xc9\x01\n\x15ReconcileCommandState\x12\x12\n\nissu'
    b'e_uuid\x18\x01 \x01(\t\x12-\n\tlifecycle\x18\x02 \x01(\x0e2\x1a.rvbox.v1.CommandLifecycle\x12\x1d\n\x15l'
    b'ast_client_event_seq\x18\x03 \x01(\x04\x12\x18\n\x10command_revision\x18\x04 \x01(\x04\x12\x12\n\ntombston'
    b'ed\x18\x05 \x01(\x08\x12 \n\x18immutable_request_sha256\x18\x06 \x01(\x0c"b\n\x0fReconcileResult\x12#\n'
    b'\x1bterminate_local_issue_uuids\x18\x01 \x03(\t\x12*\n"discard_local_terminal_iss'
    b'ue_uuids\x18\x02 \x03(\t"J\n\nAgentError\x12%\n\x05error\x18\x01 \x01(\x0b2\x16.rvbox.v1.ControlEr'
    b'ror\x12\x15\n\rclose_session\x18\x02 \x01(\x08B0Z.github.com/rvbox/rvbox/gen/go/rvbo'
    b'x/v1;rvboxv1b\x06proto3'
)
