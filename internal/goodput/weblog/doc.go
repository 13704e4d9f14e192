// Package weblog follows the access logs of web servers while the loop runs, and turns
// them into goodput rows for the connections that were measured.
//
// It is not a log shipper: lines are read, matched and forgotten.
//
// Its trap: a file is known by its inode, not by its name. Rotation moves the old one away
// while the server still writes to it, so both are read until nothing writes to the old one.
package weblog
