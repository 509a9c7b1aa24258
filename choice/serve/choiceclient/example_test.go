package choiceclient_test

import (
	"context"
	"fmt"
	"log"

	"thresher/choice/serve/choiceapi"
	"thresher/choice/serve/choiceclient"
	"thresher/service/api"
	"thresher/service/client"
)

// prefer says whether whoever judges prefers the text called a.
func prefer(a, b string) bool { return a < b }

// A tournament of three texts: duels are fetched, judged and reported until one of the texts is named best.
func ExampleClient_NextDuels() {
	ctx := context.Background()
	all, err := client.New("http://localhost:8080", &client.Options{Token: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	c := choiceclient.Of(all)
	delta := .05
	made, err := c.CreateTournament(ctx, choiceapi.TournamentSpec{Arms: []string{"brief", "long", "rhymed"}, Mode: "pac", Delta: &delta}, "")
	if err != nil {
		log.Fatal(err)
	}
	for {
		issued, err := c.NextDuels(ctx, made.ID, 4, "")
		if err != nil {
			log.Fatal(err)
		}
		if issued.Done {
			break
		}
		var judged []choiceapi.DuelResult
		for _, d := range issued.Duels {
			aWon := prefer(d.A, d.B)
			judged = append(judged, choiceapi.DuelResult{DuelID: d.ID, AWon: &aWon, Judge: "ann"})
		}
		if _, err := c.ReportDuels(ctx, made.ID, judged, false); err != nil {
			log.Fatal(err)
		}
	}
	ended, err := c.Tournament(ctx, made.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("best:", *ended.Winner)

	// A judgment that was a mistake is taken back, and the tournament goes on.
	undone, err := c.UndoDuel(ctx, made.ID, 0, "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("undone:", undone.UndoneDuels)

	page, err := c.Tournaments(ctx, "", 10)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range page.Data {
		if t.Done {
			if err := c.DeleteTournament(ctx, t.ID); err != nil {
				log.Fatal(err)
			}
		}
	}
}

// Slates of three items for two users, whose rewards teach what they like.
func ExampleClient_RecommendSlates() {
	ctx := context.Background()
	all, err := client.New("http://localhost:8080", &client.Options{Token: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	c := choiceclient.Of(all)
	if _, err := c.PutSlates(ctx, "topics", choiceapi.SlateSettings{Rule: "tuned"}); err != nil {
		log.Fatal(err)
	}
	users := []api.ID{api.TextID("ann"), api.IntID(7)}
	made, err := c.RecommendSlates(ctx, "topics", choiceapi.SlateRequest{Users: users, K: 3}, "")
	if err != nil {
		log.Fatal(err)
	}
	var feedback []choiceapi.SlateFeedback
	for _, s := range made.Slates {
		feedback = append(feedback, choiceapi.SlateFeedback{ID: s.ID, Rewards: []float64{1, 0, 0}})
	}
	if _, err := c.RewardSlates(ctx, "topics", feedback); err != nil {
		log.Fatal(err)
	}
	learned, err := c.Slates(ctx, "topics")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(learned)
	if err := c.ForgetSlateUsers(ctx, "topics", users[:1]); err != nil {
		log.Fatal(err)
	}
	if err := c.DeleteSlates(ctx, "topics"); err != nil {
		log.Fatal(err)
	}
}
