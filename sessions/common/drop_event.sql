ALTER EVENT SESSION {session_name} ON {scope} DROP EVENT {event}
