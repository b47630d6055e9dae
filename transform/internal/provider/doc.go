// Package provider reads what Goose's request logs hold in the shapes of model
// providers: OpenAI chat, OpenAI responses, Anthropic and Google.
//
// A response becomes a Goose message (Message), a request's conversation a
// stream of items that can be compared with what the stores hold (Items). Both
// take any JSON: what is of another type than a shape has it is skipped, or
// kept as it is where it may be content. Nothing here fails.
package provider
