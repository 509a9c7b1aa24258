// poll runs a task now and then again so many milliseconds after each run; not
// while the page is hidden. The task returns the time to the next run if it
// wants another than usual; one that throws waits ever longer, up to 30 s.
// now() runs it at once.
export function poll(task, interval) {
  let timer = 0;
  let running = false;
  let again = false;
  let failures = 0;

  async function run() {
    clearTimeout(timer);
    if (running) {
      again = true;
      return;
    }
    running = true;
    let wait = interval;
    try {
      wait = (await task()) ?? interval;
      failures = 0;
    } catch {
      wait = Math.min(interval * 2 ** ++failures, 30_000); // the task has told it where it matters
    }
    running = false;
    if (again) {
      again = false;
      wait = 0;
    }
    if (!document.hidden) timer = setTimeout(run, wait);
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : run()));
  run();
  return { now: run };
}
