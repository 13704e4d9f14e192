package advise

import (
	"fmt"
	"slices"
	"strings"
)

// block is the position in a script: how deep in blocks, and after which line that may have
// ended it.
type block struct {
	depth int
	from  int // where the outermost block begins, in bytes
	line  int // where the line of the last command begins
	left  int // line of the first command that may end the script, 0 for none
}

// ends reports whether the script certainly ends with a command.
func (b *block) ends(c command) bool {
	return b.depth == 0 && b.left == 0 && c.leaves() == 0 && c.words[0] != "return"
}

// open reports whether it is uncertain that a command runs, and why if not because of the
// block around.
func (b *block) open(c command) (why string, is bool) {
	if b.left > 0 {
		why = fmt.Sprintf(" (line %d may end the script)", b.left)
	}
	return why, b.left > 0 || b.depth+c.opens() > 0
}

// pass moves on to the next command.
func (b *block) pass(c command) {
	if b.depth == 0 && c.from != b.line { // otherwise a block may have ended on this line
		b.from = c.from
	}
	b.line = c.from
	if b.left == 0 && c.leaves() >= 0 {
		b.left = c.line
	}
	if slices.Contains(c.words, "<") {
		b.depth++ // a here-document: only the shell knows where it ends
	}
	b.depth = max(0, b.depth+c.opens()-c.closes())
}

// opens and closes count the words of a command that begin and end a block. One too many opens
// leaves the rest uncertain; so closes looks more carefully.
func (c command) opens() (n int) {
	for i, w := range c.words {
		if w == "{" || w == "(" || c.begins(i) && slices.Contains([]string{"if", "for", "while", "until", "case", "select"}, w) {
			n++
		}
	}
	return n
}

func (c command) closes() (n int) {
	inside := 0
	for i, w := range c.words {
		switch {
		case w == "(":
			inside++
		case w == ")" && (inside > 0 || i == 0): // else of a pattern of case
			inside--
			n++
		case c.begins(i) && slices.Contains([]string{"fi", "done", "esac", "}"}, w):
			n++
		}
	}
	return n
}

// begins reports whether a word is where a command begins.
func (c command) begins(i int) bool {
	return i == 0 || slices.Contains([]string{"&&", "||", "|", ";;", "then", "else", "elif", "if", "while", "until", "do", "time", "{", "(", ")", "!"}, c.words[i-1])
}

// leaves returns the place of the word that ends the script, -1 without one. An exec that
// only opens files ends nothing.
func (c command) leaves() int {
	for i, w := range c.words {
		if !c.begins(i) {
			continue
		}
		next := ""
		if i+1 < len(c.words) {
			next = c.words[i+1]
		}
		if w == "exit" || w == "return" || w == "exec" && next != "" && strings.IndexByte("<>&0123456789", next[0]) < 0 {
			return i
		}
	}
	return -1
}

// BeforeEnd cuts a script before what certainly or possibly ends it, which is where to add a
// command that must run.
func BeforeEnd(text string) (head, tail string) {
	var b block
	for _, c := range commands(text) {
		if b.pass(c); b.left > 0 {
			return text[:b.from], text[b.from:]
		}
	}
	return text, ""
}
