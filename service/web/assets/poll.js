// poll runs a task now and again an interval after each run, but not while the page is
// hidden. The task may return another time to the next run; after errors the interval doubles
// up to 30 s. now() runs the task at once.
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
      wait = Math.min(interval * 2 ** ++failures, 30_000); // the task has shown the error
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
