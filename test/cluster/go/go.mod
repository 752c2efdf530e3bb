// The programs that run in Pods of the tests in test/cluster.
module ack-role-resolver.test/cluster

go 1.25.0
