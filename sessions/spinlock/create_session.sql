CREATE EVENT SESSION {session_name} ON {scope}
ADD EVENT sqlos.spinlock_backoff (
    ACTION (package0.{callstack_action})
    WHERE {keys}{filters}package0.counter <= {max_events}
)
ADD TARGET package0.{target} (
    SET filtering_event_name = N'sqlos.spinlock_backoff', slots = {slots},
        source_type = 1, source = N'package0.{callstack_action}'
)
WITH (
    MAX_MEMORY = {max_memory_kb} KB,
    EVENT_RETENTION_MODE = ALLOW_SINGLE_EVENT_LOSS,
    MAX_DISPATCH_LATENCY = {dispatch_latency_seconds} SECONDS,
    MEMORY_PARTITION_MODE = {partition_mode},
    TRACK_CAUSALITY = OFF,
    {max_duration}STARTUP_STATE = OFF
)
