CREATE EVENT SESSION {session_name} ON {scope}
ADD EVENT {event} (
    {action}WHERE {keys}{tests}{filters}package0.counter <= {max_events}
)
ADD TARGET package0.{target} (
    SET filtering_event_name = {event_text}, slots = {slots},
        source_type = {source_type}, source = {source}
)
WITH (
    MAX_MEMORY = {max_memory_kb} KB,
    EVENT_RETENTION_MODE = ALLOW_SINGLE_EVENT_LOSS,
    MAX_DISPATCH_LATENCY = {dispatch_latency_seconds} SECONDS,
    MEMORY_PARTITION_MODE = {partition_mode},
    TRACK_CAUSALITY = OFF,
    {max_duration}STARTUP_STATE = OFF
)
