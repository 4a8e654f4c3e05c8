DECLARE @result int;
EXEC @result = master.sys.sp_getapplock @Resource = {resource}, @LockMode = N'Exclusive', @LockOwner = N'Session',
     @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @result AS result
