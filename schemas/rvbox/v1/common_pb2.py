"""Made by tools/proto.py from rvbox/v1/common.proto. Change that file instead."""
# pyright: reportUnusedImport=false
# What the file imports must be in the pool before it.

from fleetgate.schemas.loading import load
from fleetgate.schemas.rvbox.v1.pool import POOL

DESCRIPTOR = load(
    POOL,
    globals(),
    b'\n\x15rvbox/v1/common.proto\x12\x08rvbox.v1\x1a\x1egoogle/protobuf/duration.prot'
    b'o\x1a\x1fgoogle/protobuf/timestamp.proto"/\n\x0fProtocolVersion\x12\r\n\x05major\x18\x01'
    b' \x01(\r\x12\r\n\x05minor\x18\x02 \x01(\r"g\n\rProtocolRange\x12*\n\x07minimum\x18\x01 \x01(\x0b2\x19.rvbox.v1'
    b'.ProtocolVersion\x12*\n\x07maximum\x18\x02 \x01(\x0b2\x19.rvbox.v1.ProtocolVersion"\xdb\x02\n'
    b'\rExecutionSpec\x12\x16\n\x0ccommand_line\x18\x01 \x01(\tH\x00\x12\x1e\n\x04argv\x18\x02 \x01(\x0b2\x0e.rvbox.v1.'
    b'ArgvH\x00\x12%\n\x06script\x18\x03 \x01(\x0b2\x13.rvbox.v1.ScriptRefH\x00\x12"\n\x05shell\x18\x04 \x01(\x0e2\x13.r'
    b'vbox.v1.ShellType\x12\x0b\n\x03cwd\x18\x05 \x01(\t\x12-\n\x03env\x18\x06 \x03(\x0b2 .rvbox.v1.Execution'
    b'Spec.EnvEntry\x12*\n\x07timeout\x18\x07 \x01(\x0b2\x19.google.protobuf.Duration\x12\x12\n\nope'
    b'n_stdin\x18\x08 \x01(\x08\x12\x14\n\x0cmerge_stderr\x18\t \x01(\x08\x1a*\n\x08EnvEntry\x12\x0b\n\x03key\x18\x01 \x01(\t\x12\r\n\x05'
    b'value\x18\x02 \x01(\t:\x028\x01B\t\n\x07program"\x14\n\x04Argv\x12\x0c\n\x04args\x18\x01 \x03(\t"=\n\tScriptRef\x12\x12\n'
    b'\nsize_bytes\x18\x01 \x01(\x04\x12\x0e\n\x06sha256\x18\x02 \x01(\x0c\x12\x0c\n\x04args\x18\x03 \x03(\t"\xb2\x02\n\x0cCommandEvent'
    b'\x12\x12\n\nissue_uuid\x18\x01 \x01(\t\x12\x18\n\x10command_revision\x18\x02 \x01(\x04\x12\x11\n\tevent_seq\x18\x03 \x01('
    b'\x04\x12.\n\nevent_time\x18\x04 \x01(\x0b2\x1a.google.protobuf.Timestamp\x12/\n\tlifecycle\x18\x05'
    b" \x01(\x0b2\x1a.rvbox.v1.LifecycleChangedH\x00\x12'\n\x06output\x18\x06 \x01(\x0b2\x15.rvbox.v1.Ou"
    b"tputChunkH\x00\x12'\n\tstdin_ack\x18\x07 \x01(\x0b2\x12.rvbox.v1.StdinAckH\x00\x12%\n\x04exit\x18\x08 \x01"
    b'(\x0b2\x15.rvbox.v1.CommandExitH\x00B\x07\n\x05event"N\n\x10LifecycleChanged\x12-\n\tlife'
    b'cycle\x18\x01 \x01(\x0e2\x1a.rvbox.v1.CommandLifecycle\x12\x0b\n\x03pid\x18\x02 \x01(\x04"S\n\x0bOutputCh'
    b'unk\x12&\n\x06stream\x18\x01 \x01(\x0e2\x16.rvbox.v1.OutputStream\x12\x0c\n\x04data\x18\x02 \x01(\x0c\x12\x0e\n\x06off'
    b'set\x18\x03 \x01(\x04"%\n\x08StdinAck\x12\x19\n\x11through_write_seq\x18\x01 \x01(\x04"\x99\x01\n\x0bCommandExit'
    b'\x12-\n\tlifecycle\x18\x01 \x01(\x0e2\x1a.rvbox.v1.CommandLifecycle\x12\x16\n\texit_code\x18\x02 \x01'
    b'(\x05H\x00\x88\x01\x01\x12\x0e\n\x06signal\x18\x03 \x01(\t\x12%\n\x05error\x18\x04 \x01(\x0b2\x16.rvbox.v1.ControlErrorB\x0c'
    b'\n\n_exit_code"I\n\x0cControlError\x12(\n\x04code\x18\x01 \x01(\x0e2\x1a.rvbox.v1.ControlErr'
    b'orCode\x12\x0f\n\x07message\x18\x02 \x01(\t*x\n\x08Platform\x12\x18\n\x14PLATFORM_UNSPECIFIED\x10\x00\x12\x12\n'
    b'\x0ePLATFORM_LINUX\x10\x01\x12\x12\n\x0ePLATFORM_MACOS\x10\x02\x12\x14\n\x10PLATFORM_WINDOWS\x10\x03\x12\x14\n\x10P'
    b'LATFORM_FREEBSD\x10\x04*\xbc\x01\n\tShellType\x12\x1a\n\x16SHELL_TYPE_UNSPECIFIED\x10\x00\x12\x13\n\x0fS'
    b'HELL_TYPE_NONE\x10\x01\x12\x11\n\rSHELL_TYPE_SH\x10\x02\x12\x13\n\x0fSHELL_TYPE_BASH\x10\x03\x12\x12\n\x0eSHEL'
    b'L_TYPE_ZSH\x10\x04\x12\x19\n\x15SHELL_TYPE_POWERSHELL\x10\x05\x12\x13\n\x0fSHELL_TYPE_PWSH\x10\x06\x12\x12\n\x0e'
    b'SHELL_TYPE_CMD\x10\x07*\x8d\x01\n\nSignalKind\x12\x1b\n\x17SIGNAL_KIND_UNSPECIFIED\x10\x00\x12\x19\n\x15'
    b'SIGNAL_KIND_INTERRUPT\x10\x01\x12\x19\n\x15SIGNAL_KIND_TERMINATE\x10\x02\x12\x14\n\x10SIGNAL_KIN'
    b'D_KILL\x10\x03\x12\x16\n\x12SIGNAL_KIND_HANGUP\x10\x04*\xda\x02\n\x10CommandLifecycle\x12!\n\x1dCOMMAND'
    b'_LIFECYCLE_UNSPECIFIED\x10\x00\x12%\n!COMMAND_LIFECYCLE_AWAITING_SCRIPT\x10\x01\x12'
    b'\x1c\n\x18COMMAND_LIFECYCLE_QUEUED\x10\x02\x12\x1d\n\x19COMMAND_LIFECYCLE_RUNNING\x10\x03\x12\x1c\n\x18'
    b'COMMAND_LIFECYCLE_EXITED\x10\x04\x12%\n!COMMAND_LIFECYCLE_FAILED_TO_START\x10'
    b'\x05\x12\x1f\n\x1bCOMMAND_LIFECYCLE_TIMED_OUT\x10\x06\x12\x1e\n\x1aCOMMAND_LIFECYCLE_CANCELED'
    b'\x10\x07\x12\x1d\n\x19COMMAND_LIFECYCLE_EXPIRED\x10\x08\x12\x1a\n\x16COMMAND_LIFECYCLE_LOST\x10\t*a\n'
    b'\x0cOutputStream\x12\x1d\n\x19OUTPUT_STREAM_UNSPECIFIED\x10\x00\x12\x18\n\x14OUTPUT_STREAM_ST'
    b'DOUT\x10\x01\x12\x18\n\x14OUTPUT_STREAM_STDERR\x10\x02*\xca\x05\n\x10ControlErrorCode\x12"\n\x1eCONTROL'
    b'_ERROR_CODE_UNSPECIFIED\x10\x00\x12)\n%CONTROL_ERROR_CODE_PROTOCOL_VIOLATI'
    b'ON\x10\x01\x12*\n&CONTROL_ERROR_CODE_UNSUPPORTED_VERSION\x10\x02\x12&\n"CONTROL_ERRO'
    b'R_CODE_UNAUTHENTICATED\x10\x03\x12$\n CONTROL_ERROR_CODE_STALE_SESSION\x10\x04\x12!'
    b"\n\x1dCONTROL_ERROR_CODE_SUPERSEDED\x10\x05\x12'\n#CONTROL_ERROR_CODE_CLIENT_I"
    b"D_IN_USE\x10\x06\x12'\n#CONTROL_ERROR_CODE_INVALID_ARGUMENT\x10\x07\x12 \n\x1cCONTROL_E"
    b"RROR_CODE_NOT_FOUND\x10\x08\x12\x1f\n\x1bCONTROL_ERROR_CODE_CONFLICT\x10\t\x12'\n#CONTRO"
    b'L_ERROR_CODE_ALREADY_FINISHED\x10\n\x12!\n\x1dCONTROL_ERROR_CODE_QUEUE_FULL'
    b'\x10\x0b\x12$\n CONTROL_ERROR_CODE_QUEUE_EXPIRED\x10\x0c\x12(\n$CONTROL_ERROR_CODE_U'
    b'NSUPPORTED_SHELL\x10\r\x12(\n$CONTROL_ERROR_CODE_CHECKSUM_MISMATCH\x10\x0e\x12#\n\x1f'
    b'CONTROL_ERROR_CODE_OUT_OF_ORDER\x10\x0f\x12)\n%CONTROL_ERROR_CODE_RESOURCE'
    b'_EXHAUSTED\x10\x10\x12\x1f\n\x1bCONTROL_ERROR_CODE_INTERNAL\x10\x11b\x06proto3'
)
