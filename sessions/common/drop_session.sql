DROP EVENT SESSION {session_name} ON {scope}
