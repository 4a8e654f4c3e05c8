ALTER EVENT SESSION {session_name} ON {scope} STATE = STOP
