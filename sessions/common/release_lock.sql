EXEC master.sys.sp_releaseapplock @Resource = {resource}, @LockOwner = N'Session', @DbPrincipal = N'public'
