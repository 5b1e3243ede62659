"""Every command of the `inferact` command line, with its place in the help."""

from __future__ import annotations

from console.cli import (
    agent,
    certify,
    db,
    demo,
    detect,
    export,
    follow,
    notice,
    oversight,
    paper,
    person,
    plan,
    policy,
    prompt,
    review,
    run,
    serve,
    study,
    trajectory,
    vigilance,
)
from console.cli.output import WORK, new_app

app = new_app()

_START, _WORK, _ADMINISTER = "Start", WORK, "Administer"

app.command("demo", epilog="Example: inferact demo", rich_help_panel=_START)(demo.demo)
app.command("serve", epilog="Example: inferact serve --port 8600", rich_help_panel=_START)(serve.serve_console)
app.add_typer(trajectory.app, name="trajectory", rich_help_panel=_WORK)
app.add_typer(run.app, name="run", rich_help_panel=_WORK)
app.command("detect", epilog="Example: inferact detect hotpot --method rules,random", rich_help_panel=_WORK)(
    detect.detect
)
follow.add_to(app)
app.add_typer(review.app, name="review", rich_help_panel=_WORK)
review.app.command("seed", epilog="Example: inferact review seed shop --from gold --count 10")(vigilance.seed)
review.app.command("vigilance", epilog="Example: inferact review vigilance shop")(vigilance.show_vigilance)
app.command("evaluate", epilog="Example: inferact evaluate hotpot", rich_help_panel=_WORK)(detect.evaluate)
app.command("certify", epilog="Example: inferact certify hotpot --level 95%", rich_help_panel=_WORK)(certify.certify)
app.command("recalibrate", epilog="Example: inferact recalibrate shop --detector rules", rich_help_panel=_WORK)(
    detect.recalibrate
)
app.add_typer(policy.app, name="policy", rich_help_panel=_WORK)
app.add_typer(plan.app, name="plan", rich_help_panel=_WORK)
app.add_typer(study.app, name="study", rich_help_panel=_WORK)
app.add_typer(detect.app, name="detector", rich_help_panel=_WORK)
app.add_typer(oversight.app, name="oversight", rich_help_panel=_WORK)
app.add_typer(paper.app, name="paper", rich_help_panel=_WORK)
app.command("tune", epilog="Example: inferact tune hotpot --method rules", rich_help_panel=_WORK)(detect.tune)
app.command(
    "export", epilog="Example: inferact export decisions --run hotpot --out decisions.csv", rich_help_panel=_WORK
)(export.export_file)
app.command("chart", epilog="Example: inferact chart roc-curve roc.csv --out roc.html", rich_help_panel=_WORK)(
    export.draw_chart
)
app.add_typer(agent.app, name="agent", rich_help_panel=_ADMINISTER)
app.command("worker", epilog="Example: inferact worker --once", rich_help_panel=_ADMINISTER)(serve.run_worker)
app.add_typer(notice.app, name="notice", rich_help_panel=_ADMINISTER)
app.add_typer(person.app, name="person", rich_help_panel=_ADMINISTER)
app.add_typer(prompt.app, name="prompt", rich_help_panel=_ADMINISTER)
app.add_typer(db.app, name="db", rich_help_panel=_ADMINISTER)
app.command("doctor", epilog="Example: inferact doctor", rich_help_panel=_ADMINISTER)(db.doctor)
