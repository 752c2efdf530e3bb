module ack-role-resolver.test/pause

go 1.25.0
