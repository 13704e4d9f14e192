// Package kafka carries batches of connection records through Kafka: a producer for an agent, a
// member of a consumer group for an ingest, and the topics.
//
// One message is one frame's message Batch, without the frame's length; its key is the PoP, so that
// a PoP is one partition, in order. It decodes nothing: who takes a message says whether it was one.
//
// Its trap: it delivers at least once. What was handed out and not committed comes again, after a
// crash or as another member takes the partition over, also while the first still works on it. The
// batch's name, (boot_id, sequence), is what makes it count once.
package kafka
