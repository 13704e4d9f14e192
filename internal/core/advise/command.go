package advise

import (
	"slices"
	"strings"
)

// command is one simple command of a script, up to ";", "&" or the end of its line.
type command struct {
	line  int
	words []string // with operators as words of their own
	odd   bool     // it has what only a shell can read
}

// operators end a word, the longer ones first.
var operators = []string{"2>&1", "&>", "2>", ">>", "&&", "||", ";;", ">", "<", "|", "&", ";", "(", ")"}

// commands takes a script apart, without running any of it: no variables, no patterns,
// no here-documents. A line that ends in a backslash goes on in the next.
func commands(text string) (list []command) {
	n, from := 0, ""
	for line := range strings.Lines(text) {
		n++
		from += strings.TrimSuffix(line, "\n")
		if cut, more := strings.CutSuffix(from, `\`); more {
			from = cut + " "
			continue
		}
		list = append(list, split(from, n)...)
		from = ""
	}
	return append(list, split(from, n)...)
}

// split takes one line apart.
func split(line string, n int) (list []command) {
	c := command{line: n}
	end := func() {
		if len(c.words) > 0 {
			list = append(list, c)
		}
		c = command{line: n}
	}
	for line = strings.TrimLeft(line, " \t"); line != "" && line[0] != '#'; line = strings.TrimLeft(line, " \t\r") {
		op, rest := operator(line)
		if op == "" {
			var word string
			var odd bool
			word, rest, odd = oneWord(line)
			c.words, c.odd = append(c.words, word), c.odd || odd
		} else if op == ";" || op == "&" {
			end()
		} else {
			c.words = append(c.words, op)
		}
		line = rest
	}
	end()
	return list
}

func operator(line string) (op, rest string) {
	for _, o := range operators {
		if rest, ok := strings.CutPrefix(line, o); ok {
			return o, rest
		}
	}
	return "", line
}

// oneWord reads a word up to a blank or an operator, quotes taken off.
func oneWord(line string) (word, rest string, odd bool) {
	for line != "" {
		switch c := line[0]; {
		case c == ' ' || c == '\t' || c == '\r', strings.IndexByte("<>|&;()", c) >= 0:
			return word, line, odd
		case c == '\'' || c == '"':
			in, after, closed := strings.Cut(line[1:], string(c))
			odd = odd || !closed || c == '"' && strings.ContainsAny(in, "$`\\")
			word, line = word+in, after
		default:
			odd = odd || strings.IndexByte("$`\\*?[", c) >= 0
			word, line = word+string(c), line[1:]
		}
	}
	return word, "", odd
}

// quiet leaves out what changes nothing of what a command sets: output that is thrown
// away, and what is done if it fails.
func (c command) quiet() []string {
	words := slices.Clone(c.words)
	if i := slices.Index(words, "||"); i >= 0 && c.harmless(words[i+1:]) {
		words = words[:i]
	}
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "2>&1":
			words = slices.Delete(words, i, i+1)
			i--
		case strings.HasSuffix(words[i], ">") && i+1 < len(words) && words[i+1] == "/dev/null":
			words = slices.Delete(words, i, i+2)
			i--
		}
	}
	return words
}

func (c command) harmless(words []string) bool {
	return len(words) == 1 && (words[0] == "true" || words[0] == ":")
}
