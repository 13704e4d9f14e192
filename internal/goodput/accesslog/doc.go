// Package accesslog reads the lines that a web server writes about its responses
// and finds for each [Response] the TCP connection that carried it, so that a
// response gets the arm that was in force when it crossed the threshold.
//
// It reads no files (goodput/weblog follows them) and is no web analytics: it takes addresses,
// times and sizes, and nothing about the content of the request.
//
// Its trap: a log's time ends when the last byte enters the socket's buffer, not when the
// client has it. A response that fits into the buffer seems to take no time. So small
// responses are counted apart, and the bytes that clients acknowledged per busy time stand
// beside each goodput.
package accesslog
