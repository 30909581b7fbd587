const token = new URLSearchParams(location.search).get('token') || '';
const events = new EventSource('/api/events?token=' + encodeURIComponent(token));
events.addEventListener('state', event => {
  const state = JSON.parse(event.data);
  document.getElementById('status').textContent = `${state.name}: ${state.status}, ${state.spp} samples per pixel`;
});
