/* The motion of cameras: each function returns a new camera and leaves the old one alone. */
"use strict";

const cameraMotion = {
  /* Turns about the pivot; angles in radians. The camera stays 1 degree away from the poles. */
  orbit(camera, pivot, turn, tilt) {
    const { right, forward } = cameraFrame(camera), up = vec3.normalize(camera.up);
    const height = Math.asin(Math.max(-1, Math.min(1, vec3.dot(forward, up)))), limit = Math.PI / 2 - Math.PI / 180;
    const tilted = Math.max(-limit, Math.min(limit, height + tilt)) - height;
    const rotate = point => vec3.add(pivot,
      vec3.rotate(vec3.rotate(vec3.sub(point, pivot), right, tilted), up, turn));
    return { ...camera, eye: rotate(camera.eye), look_at: rotate(camera.look_at) };
  },

  look(camera, turn, tilt) {
    return cameraMotion.orbit(camera, camera.eye, turn, tilt);
  },

  /* Moves in the directions of the camera, in scene units. */
  move(camera, right, up, forward) {
    const frame = cameraFrame(camera);
    const step = vec3.along(vec3.along(vec3.scale(frame.right, right), up, frame.up), forward, frame.forward);
    return { ...camera, eye: vec3.add(camera.eye, step), look_at: vec3.add(camera.look_at, step) };
  },

  /* Multiplies the distance to the pivot; an orthographic view changes its height instead. */
  dolly(camera, pivot, factor) {
    if (camera.orthographic > 0) return { ...camera, orthographic: camera.orthographic * factor };
    const distance = vec3.length(vec3.sub(pivot, camera.eye)), { forward } = cameraFrame(camera);
    const step = vec3.scale(forward, distance * (1 - factor));
    const ahead = Math.max(1e-4, vec3.length(vec3.sub(camera.look_at, camera.eye)) * factor);
    const eye = vec3.add(camera.eye, step);
    return { ...camera, eye, look_at: vec3.along(eye, ahead, forward) };
  },

  /* Looks at a point from where the camera is. */
  face: (camera, point) => ({ ...camera, look_at: point.slice() }),

  /* Moves back or forth until the bounds fill the view. */
  frame(camera, bounds) {
    if (!bounds || bounds.length !== 6) return camera;
    const low = bounds.slice(0, 3), high = bounds.slice(3);
    const centre = vec3.scale(vec3.add(low, high), 0.5), radius = vec3.length(vec3.sub(high, low)) / 2 || 1;
    const distance = radius / Math.sin(Math.min(camera.fov, 90) * Math.PI / 360);
    const eye = vec3.along(centre, -distance, cameraFrame(camera).forward);
    return { ...camera, eye, look_at: centre, orthographic: camera.orthographic > 0 ? 2 * radius : 0 };
  },
};

/* A camera with its history. `changed` is called with each new camera. */
class Rig {
  constructor(changed) {
    this.changed = changed;
    this.camera = null;
    this.pivot = null;
    this.past = [];
    this.future = [];
    this.lastRecord = -Infinity;
  }

  /* Returns the point that the camera turns about. */
  get centre() { return this.pivot || this.camera.look_at; }

  /* Remembers the camera for undo; what follows within `joined` milliseconds belongs to one step. */
  record(joined = 0) {
    const now = performance.now();
    if (now - this.lastRecord > joined) {
      this.past.push(this.camera);
      if (this.past.length > 200) this.past.shift();
      this.future = [];
    }
    this.lastRecord = joined ? now : -Infinity;
  }

  set(camera) {
    this.camera = camera;
    this.changed(camera);
  }

  step(from, to) {
    if (!from.length) return;
    to.push(this.camera);
    this.pivot = null;
    this.lastRecord = -Infinity;
    this.set(from.pop());
  }

  undo() { this.step(this.past, this.future); }
  redo() { this.step(this.future, this.past); }

  jump(camera) {
    this.record();
    this.pivot = null;
    this.set(camera);
  }

  /* Distance that the speed of motion follows. */
  get reach() { return Math.max(1e-4, vec3.length(vec3.sub(this.centre, this.camera.eye))); }
}

/* Mouse, touch and keys on the stage. `target` returns what they move:
   { rig } moves a camera, { picture } the picture on the screen. */
class Navigation {
  constructor(stage, target, actions) {
    this.stage = stage;
    this.target = target;
    this.actions = actions;
    this.pointers = new Map();
    this.keys = new Set();
    this.flying = 0;
    this.tool = "orbit";
    stage.addEventListener("pointerdown", event => this.down(event));
    stage.addEventListener("pointermove", event => this.moved(event));
    for (const name of ["pointerup", "pointercancel"]) stage.addEventListener(name, event => this.up(event));
    stage.addEventListener("dblclick", event => actions.focus(event));
    stage.addEventListener("wheel", event => this.wheel(event), { passive: false });
    stage.addEventListener("contextmenu", event => event.preventDefault());
    stage.addEventListener("keydown", event => this.keyDown(event));
    stage.addEventListener("keyup", event => this.keys.delete(event.code));
    stage.addEventListener("blur", () => this.keys.clear());
  }

  down(event) {
    if (event.target.closest("button, input, .handle")) return;
    this.stage.classList.add("pointed"); /* the frame of the focus is for the keyboard */
    this.stage.focus({ preventScroll: true });
    this.stage.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY, start: [event.clientX, event.clientY], button: event.button });
    this.dragged = this.pointers.size > 1;
  }

  up(event) {
    const pointer = this.pointers.get(event.pointerId);
    this.pointers.delete(event.pointerId);
    this.spread = 0;
    if (pointer && this.dragged && this.choosing) this.actions.choose(pointer.start, event, true);
    else if (pointer && !this.dragged && event.type === "pointerup" && pointer.button === 0) this.actions.select(event);
    else if (pointer && !this.pointers.size) this.actions.rest();
  }

  moved(event) {
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) {
      this.actions.hover(event);
      return;
    }
    const dx = event.clientX - pointer.x, dy = event.clientY - pointer.y;
    if (!this.dragged && Math.hypot(event.clientX - pointer.start[0], event.clientY - pointer.start[1]) < 4) return;
    if (this.choosing && this.pointers.size === 1) {
      this.dragged = true;
      this.actions.choose(pointer.start, event, false);
      return;
    }
    const { rig, picture } = this.target();
    if (!this.dragged && rig) rig.record();
    this.dragged = true;
    pointer.x = event.clientX;
    pointer.y = event.clientY;
    if (this.pointers.size === 2) this.pinch(rig, picture, dx / 2, dy / 2);
    else if (picture) this.movePicture(picture, dx, dy);
    else if (rig) this.drag(rig, dx, dy, this.toolOf(event, pointer));
  }

  /* The right and middle button and Shift pan, Ctrl dollies, Alt looks around, whatever the tool is. */
  toolOf(event, pointer) {
    if (pointer.button || event.shiftKey) return "pan";
    if (event.ctrlKey || event.metaKey) return "dolly";
    return event.altKey ? "look" : this.tool;
  }

  movePicture(picture, dx, dy) {
    const ratio = devicePixelRatio || 1;
    picture.move(dx * ratio, dy * ratio);
  }

  drag(rig, dx, dy, tool) {
    const camera = rig.camera, height = this.stage.clientHeight, turn = Math.PI / height;
    const unit = camera.orthographic > 0 ? camera.orthographic / height
      : 2 * rig.reach * Math.tan(camera.fov * Math.PI / 360) / height;
    if (tool === "pan") {
      if (rig.pivot) rig.pivot = cameraMotion.move({ ...camera, eye: rig.pivot }, -dx * unit, dy * unit, 0).eye;
      rig.set(cameraMotion.move(camera, -dx * unit, dy * unit, 0));
    } else if (tool === "dolly") rig.set(cameraMotion.dolly(camera, rig.centre, Math.exp(dy / height * 3)));
    else if (tool === "look") {
      rig.pivot = null;
      rig.set(cameraMotion.look(camera, dx * turn / 2, dy * turn / 2));
    } else rig.set(cameraMotion.orbit(camera, rig.centre, -dx * turn, -dy * turn));
  }

  /* Two fingers: their distance dollies or zooms, their centre pans. */
  pinch(rig, picture, dx, dy) {
    const [a, b] = [...this.pointers.values()], spread = Math.hypot(a.x - b.x, a.y - b.y);
    const factor = this.spread ? spread / this.spread : 1;
    this.spread = spread;
    if (picture) {
      const box = this.stage.getBoundingClientRect(), ratio = devicePixelRatio || 1;
      picture.zoom(picture.place().scale * factor, ((a.x + b.x) / 2 - box.left) * ratio, ((a.y + b.y) / 2 - box.top) * ratio);
      this.movePicture(picture, dx, dy);
    } else if (rig) {
      this.drag(rig, dx, dy, "pan");
      rig.set(cameraMotion.dolly(rig.camera, rig.centre, 1 / factor));
    }
  }

  wheel(event) {
    const { rig, picture, zoomable } = this.target();
    const amount = Math.max(-1, Math.min(1, event.deltaY / (event.deltaMode ? 3 : 100)));
    const zoomed = picture || (event.ctrlKey && zoomable);
    if (!zoomed && !rig) return;
    event.preventDefault();
    if (zoomed) {
      const box = this.stage.getBoundingClientRect(), ratio = devicePixelRatio || 1;
      zoomed.zoom(zoomed.place().scale * Math.exp(-amount / 3), (event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio);
      return;
    }
    rig.record(700);
    rig.set(cameraMotion.dolly(rig.camera, rig.centre, Math.exp(amount / 5)));
    this.actions.rest();
  }

  keyDown(event) {
    if (event.target !== this.stage) return;
    this.stage.classList.remove("pointed");
    const { rig } = this.target(), control = event.ctrlKey || event.metaKey;
    if (control && event.code === "KeyZ" && rig) event.shiftKey ? rig.redo() : rig.undo();
    else if (control && event.code === "KeyY" && rig) rig.redo();
    else if (control || event.altKey) return;
    else if (/^Arrow/.test(event.code) && rig) {
      rig.record(700);
      const [x, y] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.code];
      if (event.shiftKey) this.drag(rig, -x * 30, -y * 30, "pan");
      else rig.set(cameraMotion.orbit(rig.camera, rig.centre, x * Math.PI / 36, y * Math.PI / 36));
    } else if ((event.key === "+" || event.key === "-") && rig) {
      rig.record(700);
      rig.set(cameraMotion.dolly(rig.camera, rig.centre, event.key === "+" ? 0.9 : 1 / 0.9));
    } else if (/^Key[WASDQE]$/.test(event.code) && rig) {
      this.keys.add(event.code);
      this.fast = event.shiftKey;
      this.fly();
    } else if (!this.actions.key(event)) return;
    event.preventDefault();
  }

  /* Moves each frame while keys are held: the distance to the pivot in 1.5 s, with Shift in 0.4 s. */
  fly() {
    const now = performance.now(), { rig } = this.target();
    if (!this.keys.size || !rig) {
      this.flying = 0;
      this.actions.rest();
      return;
    }
    if (!this.flying) {
      rig.record();
      this.speed = rig.reach / 1.5;
    } else {
      const held = (a, b) => Number(this.keys.has(`Key${a}`)) - Number(this.keys.has(`Key${b}`));
      const step = this.speed * (this.fast ? 3.75 : 1) * Math.min(0.1, (now - this.flying) / 1000);
      rig.pivot = null;
      rig.set(cameraMotion.move(rig.camera, held("D", "A") * step, held("E", "Q") * step, held("W", "S") * step));
    }
    const first = !this.flying;
    this.flying = now;
    if (first || !this.framed) {
      this.framed = true;
      requestAnimationFrame(() => { this.framed = false; this.fly(); });
    }
  }
}
