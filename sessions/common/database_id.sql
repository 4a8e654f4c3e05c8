SELECT DB_ID({database}) AS database_id
