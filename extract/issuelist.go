package extract

import "fmt"

// issueList collects issues, at most maxIssues of a code: hostile inputs can
// raise any number. What is left out is counted.
type issueList struct {
	issues []Issue
	counts map[string]int
}

func (l *issueList) add(is Issue) {
	if l.counts == nil {
		l.counts = make(map[string]int)
	}
	if l.counts[is.Code]++; l.counts[is.Code] <= maxIssues {
		l.issues = append(l.issues, is)
	}
}

// list gives the issues, and one more for each code that had too many.
func (l *issueList) list() []Issue {
	list := l.issues
	seen := make(map[string]bool)
	for _, is := range l.issues {
		if n := l.counts[is.Code]; n > maxIssues && !seen[is.Code] {
			seen[is.Code] = true
			list = append(list, Issue{Code: is.Code, Message: fmt.Sprintf("%d more like these", n-maxIssues)})
		}
	}
	return list
}
